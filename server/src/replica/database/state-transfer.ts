/**
 * Brings a copy of another replica's database: chooses whom to ask, and asks somebody else when that one fails midway.
 *
 * Responsible for: the order of sources, the pace of attempts, telling how far it is. How a copy is made, sent and put in place is the adapters' business.
 * Invariants: it is tried without end, since nothing else brings the database back; one whose log this replica's does not go on from is asked after all others; what was found to differ is not replaced by a copy of what
 * differs, too.
 */
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import { CopyError, type CopiedDatabase, type CopyFetcher, type CopyProgress } from '../../ports/copy.ts';
import type { RecoveryTracker } from './recovery-progress.ts';

export interface StateTransferOptions {
  readonly fetcher: CopyFetcher;
  /** Receives a whole copy over this channel into the directory of the database. @throws CopyError */
  readonly receive: (
    channel: Duplex,
    from: ReplicaId,
    onProgress: (progress: CopyProgress) => void,
    signal: AbortSignal,
  ) => Promise<CopiedDatabase>;
  /** Who may be asked now, best first. */
  readonly sources: () => readonly ReplicaId[];
  readonly tracker: RecoveryTracker;
  readonly logger: Logger;
  readonly timers: Pick<Timers, 'after'>;
  /** After the first round in which nobody could help; then twice as long each time, up to `retryMsMax`. */
  readonly retryMs: number;
  readonly retryMsMax: number;
  /** The same where a copy was begun in vain: that cost its source and the network something. */
  readonly failedMsMax: number;
  /** Asked after each round in vain: false, and another one follows. Default: it is tried without end. */
  readonly asksOnce?: () => boolean;
}

/** `equal`: who had what the majority had when data was compared; null if it was not. */
export interface Candidates {
  readonly connected: readonly ReplicaId[];
  readonly leader: ReplicaId | null;
  readonly voters: readonly ReplicaId[];
  readonly equal: readonly ReplicaId[] | null;
}

/**
 * Whom to ask, best first: those that were found equal, and of them the leader last, which has enough to do. A learner comes after all voters: it mostly waits for a copy itself. One that differs, too, may not have heard of it yet, and
 * would pass its difference on: so nobody else is asked while those that were equal are a majority of the voters, as they were then. They are waited for
 * in vain no longer than the group stands still: any majority that serves has one of them in it.
 */
export function rankSources({ connected, leader, voters, equal }: Candidates): ReplicaId[] {
  const isEqual = (peer: ReplicaId): boolean => equal?.includes(peer) ?? true;
  const restricted = 2 * voters.filter(isEqual).length > voters.length;
  const rank = (peer: ReplicaId): number =>
    (voters.includes(peer) ? 0 : 4) + (isEqual(peer) ? 0 : 2) + (peer === leader ? 1 : 0);
  return connected
    .filter((peer) => !restricted || isEqual(peer))
    .toSorted((one, other) => rank(one) - rank(other));
}

/** So often it is looked for somebody to ask, before a round counts in which there was nobody. */
const alonesMax = 30;

/** Resolves with what has come; null: the signal has ended it, or nobody could help and each was asked once. */
export async function transferState(
  options: StateTransferOptions,
  signal: AbortSignal,
): Promise<CopiedDatabase | null> {
  const { timers, retryMs, retryMsMax, failedMsMax } = options;
  /** Their copies were too old: they may have caught up by the time all others were asked. */
  const tooOld = new Set<ReplicaId>();
  let refusedMs = retryMs;
  let failedMs = retryMs;
  let vainRounds = 0;
  while (!signal.aborted) {
    const rank = (source: ReplicaId): number => (tooOld.has(source) ? 1 : 0);
    const sources = options.sources().toSorted((one, other) => rank(one) - rank(other));
    let hasFailed = false;
    for (const source of sources) {
      if (signal.aborted) return null;
      const result = await attempt(options, source, signal);
      if (result.kind === 'copied') return result.copy;
      if (result.kind === 'tooOld') tooOld.add(source);
      hasFailed ||= result.kind === 'failed' || result.kind === 'noSpace';
      // Another one's copy is as large.
      if (result.kind === 'noSpace') break;
    }
    // Right after its start a replica hears nobody yet.
    vainRounds += sources.length === 0 ? 1 : alonesMax;
    if (options.asksOnce?.() === true && vainRounds >= alonesMax) return null;
    await pause(timers, sources.length === 0 ? retryMs : hasFailed ? failedMs : refusedMs, signal);
    if (sources.length === 0) refusedMs = retryMs;
    else if (hasFailed) failedMs = Math.min(2 * failedMs, failedMsMax);
    else refusedMs = Math.min(2 * refusedMs, retryMsMax);
  }
  return null;
}

/** `refused`: nothing was sent. `noSpace`: no copy can be taken in here. */
type AttemptResult =
  | { readonly kind: 'copied'; readonly copy: CopiedDatabase }
  | { readonly kind: 'refused' | 'tooOld' | 'failed' | 'noSpace' };

async function attempt(
  { fetcher, receive, tracker, logger }: StateTransferOptions,
  source: ReplicaId,
  signal: AbortSignal,
): Promise<AttemptResult> {
  let begun = false;
  try {
    const channel = await fetcher.open(source, signal);
    tracker.attempt(source);
    const onProgress = ({ bytesCompared, bytesToCompare, bytesReceived }: CopyProgress): void => {
      begun = true;
      tracker.received(bytesCompared, bytesToCompare, bytesReceived);
    };
    const copy = await receive(channel, source, onProgress, signal);
    tracker.receivedAll();
    const { bytesReceived, bytesTotal, blocksReceived } = copy;
    logger.info({ source, bytesReceived, bytesTotal, blocksReceived }, 'a copy of the database is here');
    return { kind: 'copied', copy };
  } catch (error) {
    if (!signal.aborted) {
      logger.warn({ err: error, source }, 'a copy of the database could not be had');
      tracker.failed(reasonOf(error, source), source);
    }
    const code = error instanceof CopyError ? error.code : null;
    if (code === 'tooOld' || code === 'noSpace') return { kind: code };
    return { kind: begun ? 'failed' : 'refused' };
  }
}

/** The name of the source stands beside it. */
function reasonOf(error: unknown, source: ReplicaId): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.startsWith(`${source}: `) ? message.slice(source.length + 2) : message;
}
