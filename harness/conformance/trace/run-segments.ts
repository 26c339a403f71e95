/**
 * Has a judge go through segments of traces: which of them it can match to their end.
 *
 * Responsible for: how many are judged at once, since starting TLC costs more than checking most of them. Judges nothing.
 */
import { judges, type JudgeName } from '../judge/judges.ts';
import { traceModule, type ModuleOptions, type Piece } from './trace-module.ts';

/** One module of this many steps keeps TLC's parser within a few seconds, its heap small, and a slow machine within the time. */
export const STEPS_PER_RUN_MAX = 4_000;

export interface RunOutcome {
  /** Numbers of the pieces, from 0, that were matched to their end. */
  readonly matched: ReadonlySet<number>;
  /** How many steps could be taken of each; only when diagnosing. */
  readonly taken: ReadonlyMap<number, number>;
  readonly state: string | null;
}

export interface RunOptions extends ModuleOptions {
  readonly judge: JudgeName;
  /** Threads of TLC. */
  readonly workers?: number;
}

/** In their order. */
export function batchesOf(pieces: readonly Piece[]): Piece[][] {
  const batches: Piece[][] = [];
  let steps = STEPS_PER_RUN_MAX;
  for (const piece of pieces) {
    steps += piece.segment.steps.length;
    if (steps > STEPS_PER_RUN_MAX) {
      batches.push([]);
      steps = piece.segment.steps.length;
    }
    batches.at(-1)?.push(piece);
  }
  return batches;
}

/** All pieces at once. @throws Error if the judge cannot evaluate something, or takes too long */
export async function runPieces(pieces: readonly Piece[], options: RunOptions): Promise<RunOutcome> {
  const { judge, workers = 1 } = options;
  return readOutcome(await judges[judge](traceModule(pieces, options), { workers }));
}

function readOutcome(output: string): RunOutcome {
  const matched = new Set(
    [...output.matchAll(/<<"matched", (\d+)>>/g)].map(([, piece]) => Number(piece) - 1),
  );
  const taken = new Map<number, number>();
  for (const [, piece, next] of output.matchAll(/<<"reached", (\d+), (\d+)>>/g)) {
    const index = Number(piece) - 1;
    taken.set(index, Math.max(taken.get(index) ?? 0, Number(next) - 1));
  }
  const state = /<<\s*"state",\s*(\[[\s\S]*?\])\s*>>/.exec(output)?.[1] ?? null;
  return { matched, taken, state };
}
