/** A run shows nothing that an alteration would falsify: it does not apply, which is no verdict. */
export class NothingToAlterError extends Error {
  override readonly name = 'NothingToAlterError';
}
