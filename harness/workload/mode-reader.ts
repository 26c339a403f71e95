/**
 * A client that only reads, at one replica, in one mode after another: each session is in the next one.
 *
 * Responsible for: its sessions and its pace. What is asked is the workload's, what is written down its caller's.
 */
import type { ReadMode, ReadTerms } from '../checkers/read-terms.ts';
import { openModeSession } from './mode-session.ts';
import type { Random } from './seeded-random.ts';
import type { SqlFailure, SqlSession } from './sql-session.ts';

export interface ModeReaderOptions {
  readonly port: number;
  readonly replica: string;
  readonly modes: readonly ReadMode[];
  /** Which of them comes first, counted on from the last to the first. */
  readonly firstMode: number;
  readonly random: Random;
  readonly pace: number;
  readonly pauseMs: number;
  readonly connectMs: number;
  readonly statementMs: number;
  readonly isStopping: () => boolean;
  readonly nextSession: () => number;
  readonly onRefused: (failure: SqlFailure) => void;
  /** One read, written down. */
  readonly read: (session: SqlSession, terms: ReadTerms) => Promise<void>;
}

/** With little load they are shorter, so that a short run has all modes. */
const readsPerSession = 25;
const readsPerSessionMin = 5;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function readInModes(options: ModeReaderOptions): Promise<void> {
  const { modes, random, isStopping, firstMode, pace, onRefused } = options;
  const reads = Math.max(readsPerSessionMin, readsPerSession * Math.min(1, pace));
  for (let turn = firstMode; !isStopping(); turn++) {
    const mode = modes[turn % modes.length]!;
    try {
      await readFor(options, mode, Math.ceil(reads * (0.5 + random.unit())));
    } catch (error) {
      onRefused(error as SqlFailure);
      await sleep(100 + random.below(100));
    }
  }
}

/** @throws SqlFailure if there is no session to be had */
async function readFor(options: ModeReaderOptions, mode: ReadMode, reads: number): Promise<void> {
  const { random, isStopping, nextSession, pauseMs } = options;
  const { session, terms } = await openModeSession({ ...options, mode, number: nextSession() });
  for (let left = reads; left > 0 && session.usable && !isStopping(); left--) {
    await options.read(session, terms);
    await sleep(random.exponential(pauseMs));
  }
  session.close();
}
