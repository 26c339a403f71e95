/**
 * The port of whoever judges what was recorded: it runs a model of the specification, with what was recorded in it, and tells what that printed.
 *
 * The verdict lies in what is printed: which segments were matched, how far a run got. So TLC (tlc-judge.ts) and the evaluator of this repository (typescript-judge.ts) are given the same texts, and must print the same.
 */

export interface RecordedModel {
  readonly module: string;
  readonly text: string;
  /** What was recorded, as a literal: the definition of `name` in a module that the other one extends. */
  readonly data: { readonly module: string; readonly name: string; readonly literal: string };
  /** The modules of specs/ that it needs, the standard ones aside. */
  readonly specs: readonly string[];
  readonly config: string;
}

export interface JudgeOptions {
  /** Threads, where there can be several. */
  readonly workers?: number;
}

/** @returns what PrintT printed, in any order. @throws Error if something cannot be evaluated, or it takes too long: that is no verdict */
export type Judge = (model: RecordedModel, options?: JudgeOptions) => Promise<string>;
