/**
 * Brings a copy of another replica's database: chooses whom to ask, and asks somebody else when that one fails midway.
 *
 * Responsible for: the order of sources, time-outs, the pace of attempts. How a copy is made, sent, unpacked and put in place is the adapters' business.
 * Invariants: a copy is put in place only when it was received whole; an attempt begins afresh, and never on top of another's bytes; a source that says
 * nothing for too long counts as dead.
 */
import type { Logger } from 'pino';
import type { ReplicaId } from '../multipaxos/types.ts';
import { SnapshotError, type SnapshotFetcher, type SnapshotStream } from '../ports/snapshot.ts';
import type { RecoveryTracker } from './recovery-progress.ts';

/** Where copies go: the postgres adapter's part. */
export interface CopyTarget {
  /** Unpacks the whole stream beside the database, over whatever an earlier attempt left. @throws SnapshotError */
  receive(copy: SnapshotStream, onBytes: (bytes: number) => void, signal: AbortSignal): Promise<void>;
  /** Sets aside what stands in its place, and puts it there. @throws SnapshotError */
  install(reason: string): Promise<void>;
}

export interface StateTransferOptions {
  readonly fetcher: SnapshotFetcher;
  readonly target: CopyTarget;
  /** Who may be asked now, best first. */
  readonly sources: () => readonly ReplicaId[];
  readonly tracker: RecoveryTracker;
  readonly logger: Logger;
  /** After the first round in which nobody could help; then twice as long each time, up to `retryMsMax`. */
  readonly retryMs: number;
  readonly retryMsMax: number;
  /** No byte for this long: the source is given up. Its PostgreSQL begins with a checkpoint, which takes its time. */
  readonly silenceMs: number;
}

/** Whom to ask, best first: a leader has enough to do. */
export function rankSources(connected: readonly ReplicaId[], leader: ReplicaId | null): ReplicaId[] {
  return [...connected.filter((peer) => peer !== leader), ...connected.filter((peer) => peer === leader)];
}

/** `gaveUp`: nobody could help in as many rounds as were asked for. */
export type TransferOutcome = 'installed' | 'gaveUp' | 'stopped';

/** `roundsMax` null: for as long as it takes. */
export async function transferState(
  options: StateTransferOptions,
  reason: string,
  roundsMax: number | null,
  signal: AbortSignal,
): Promise<TransferOutcome> {
  const { retryMs, retryMsMax } = options;
  for (let round = 0, waitMs = retryMs; !signal.aborted; ) {
    const sources = options.sources();
    // Nobody to ask is not nobody that has one.
    if (sources.length > 0) round++;
    for (const source of sources) {
      if (signal.aborted) return 'stopped';
      if (await attempt(options, source, reason, signal)) return 'installed';
    }
    if (roundsMax !== null && round >= roundsMax) return 'gaveUp';
    await pause(waitMs, signal);
    waitMs = sources.length === 0 ? retryMs : Math.min(2 * waitMs, retryMsMax);
  }
  return 'stopped';
}

async function attempt(
  { fetcher, target, tracker, logger, silenceMs }: StateTransferOptions,
  source: ReplicaId,
  reason: string,
  signal: AbortSignal,
): Promise<boolean> {
  const silence = new AbortController();
  const both = AbortSignal.any([signal, silence.signal]);
  const giveUp = (): void =>
    silence.abort(new SnapshotError('transferFailed', `${source} has sent nothing for ${silenceMs} ms`));
  let timer = setTimeout(giveUp, silenceMs);
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, silenceMs);
  };
  try {
    const copy = await fetcher.fetch(source, both);
    tracker.attempt(source);
    heard();
    const received = target.receive(
      copy,
      (bytes) => {
        heard();
        tracker.received(bytes, copy.bytesTotal);
      },
      both,
    );
    // Not raced: once told to stop it must have let go of its files before anybody else receives into them.
    await received;
    both.throwIfAborted();
    clearTimeout(timer);
    await target.install(reason);
    return true;
  } catch (error) {
    if (!signal.aborted) logger.warn({ err: error, source }, 'a copy of the database could not be had');
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
