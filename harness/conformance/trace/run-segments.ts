/**
 * Has TLC go through segments of traces: which of them it can match to their end.
 *
 * Responsible for: running TLC on them, and how many go to one JVM, since starting that costs more than checking most of them. Judges nothing.
 */
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SPECS_DIR, runTlc } from '../../../scripts/specs/tlc.ts';
import { errorText } from '../../../scripts/specs/tlc-output.ts';
import { DATA_MODULE, TRACE_MODULE, traceModule, type ModuleOptions, type Piece } from './trace-module.ts';

/** One module of this many steps keeps TLC's parser within a few seconds, its heap small, and a slow machine within the time. */
export const STEPS_PER_RUN_MAX = 4_000;
const TIMEOUT_MS = 600_000;

export interface RunOutcome {
  /** Numbers of the pieces, from 0, that were matched to their end. */
  readonly matched: ReadonlySet<number>;
  /** How many steps could be taken of each; only when diagnosing. */
  readonly taken: ReadonlyMap<number, number>;
  readonly state: string | null;
}

export interface RunOptions extends ModuleOptions {
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

/** All pieces go to one JVM. @throws Error if TLC cannot evaluate something, or takes too long */
export async function runPieces(pieces: readonly Piece[], options: RunOptions): Promise<RunOutcome> {
  const directory = await mkdtemp(join(tmpdir(), 'barista-trace-'));
  try {
    for (const module of ['MultiPaxos.tla', 'Consensus.tla', 'TraceMultiPaxos.tla']) {
      await copyFile(join(SPECS_DIR, module), join(directory, module));
    }
    const { data, tla, cfg } = traceModule(pieces, options);
    await writeFile(join(directory, `${DATA_MODULE}.tla`), data);
    await writeFile(join(directory, `${TRACE_MODULE}.tla`), tla);
    await writeFile(join(directory, `${TRACE_MODULE}.cfg`), cfg);
    const { exitCode, output } = await runTlc({
      module: TRACE_MODULE,
      cfg: `${TRACE_MODULE}.cfg`,
      args: ['-workers', String(options.workers ?? 1), '-lncheck', 'final'],
      specDir: directory,
      timeoutMs: TIMEOUT_MS,
    });
    // TLC could not evaluate something: no verdict. A segment that is not matched is no error to it.
    if (exitCode !== 0) throw new Error(`TLC ended with ${exitCode ?? 'a time-out'}:\n${errorText(output)}`);
    return readOutcome(output);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
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
