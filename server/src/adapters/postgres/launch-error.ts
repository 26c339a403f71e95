/**
 * What keeps PostgreSQL from being found or started, told to the person who has to do something about it.
 *
 * `databaseLost`: its files are damaged or gone in part, so that no further attempt helps: the replica restores it from another.
 * `databaseFull`: no space or memory; try again after a while. `launchRefused`: settings or rights do not allow it, whatever the files are. `launchFailed`: anything else; one that stays may be damage that nobody has told.
 */
export type LaunchErrorCode = 'launchFailed' | 'launchRefused' | 'databaseLost' | 'databaseFull';

export class LaunchError extends Error {
  override readonly name = 'LaunchError';
  readonly code: LaunchErrorCode;
  constructor(message: string, options: { readonly code?: LaunchErrorCode; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = options.code ?? 'launchFailed';
  }
}
