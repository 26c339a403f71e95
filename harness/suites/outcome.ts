/** What a suite said of each of its parts: a file of SQL, a specification, a test. */

export interface Outcome {
  readonly name: string;
  readonly result: 'pass' | 'fail' | 'skip';
  /** What was seen, as far as two runs of the same kind can be compared by it: output, or the reason of the failure. */
  readonly evidence: string;
}

/** Where a suite's clients connect. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

export interface SuiteRun {
  readonly target: Target;
  /** Everything that the run leaves behind goes here. Exists and is empty. */
  readonly directory: string;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}
