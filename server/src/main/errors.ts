/** How the command line fails: errors that people can act on, and the exit codes that scripts can rely on. */

/**
 * `failed`: something went wrong while it worked. `usage`: an option or a configuration key is wrong. `notRunning`: no demo, or no replica,
 * answers. `refused`: it answered that it will not do this. `differs`: a comparison was made, and replicas differ.
 */
export const exitCodes = { ok: 0, failed: 1, usage: 2, notRunning: 3, refused: 4, differs: 5 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Its message is all that a person needs; printed without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  constructor(message: string, exitCode: ExitCode = exitCodes.failed, options?: { cause?: unknown }) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
