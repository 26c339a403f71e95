/** A reason why nothing was measured that people can do something about: its message is all that is shown. */
export class BenchError extends Error {
  override readonly name = 'BenchError';
}
