/** What a drill is: something that an operator fears, done to a real group, with a verdict. */

export interface DrillContext {
  /** How long load goes on at a time. */
  readonly seconds: number;
  /** The group's files are kept. */
  readonly keep: boolean;
  /** Programs of an older minor version of PostgreSQL; null: not given. */
  readonly older: string | null;
  readonly say: (line: string) => void;
}

/** Resolves with what went wrong, in whole sentences; empty: nothing. @throws CannotRun */
export type Drill = (context: DrillContext) => Promise<readonly string[]>;

/** It cannot be done on this machine, or not with these options. */
export class CannotRun extends Error {
  override readonly name = 'CannotRun';
}
