/**
 * What keeps PostgreSQL from being found or started, told to the person who has to do something about it.
 *
 * `databaseLost`: its files are damaged or gone in part, so that no further attempt helps: the replica restores it from another.
 * `databaseFull`: no space or memory; try again after a while. `launchFailed`: anything else, such as wrong rights or settings.
 */
export type LaunchErrorCode = 'launchFailed' | 'databaseLost' | 'databaseFull';

export class LaunchError extends Error {
  override readonly name = 'LaunchError';
  readonly code: LaunchErrorCode;
  constructor(message: string, options: { readonly code?: LaunchErrorCode; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = options.code ?? 'launchFailed';
  }
}
