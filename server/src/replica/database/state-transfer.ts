/**
 * Brings a copy of another replica's database: chooses whom to ask, and asks somebody else when that one fails midway.
 *
 * Responsible for: the order of sources, time-outs, whether there is space, the pace of attempts. How a copy is made, sent, unpacked and put in place is the adapters' business.
 * Invariants: a copy is put in place only when it was received whole, and none that is known to be too old; an attempt begins afresh, and never on top of another's bytes; a source that says
 * nothing for too long counts as dead; what was found to differ is not replaced by a copy of what differs, too.
 */
import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { ReplicaId, Slot } from '../../multipaxos/types.ts';
import { SnapshotError, type SnapshotFetcher, type SnapshotStream } from '../../ports/snapshot.ts';
import { pause } from '../../payload/pause.ts';
import type { RecoveryTracker } from './recovery-progress.ts';

/** What becomes of the database that a copy replaces: people may want to look at one that was used, and not at a copy that was of no use. */
export type ReplacedDatabase = 'setAside' | 'removed';

/** Where copies go: the postgres adapter's part. */
export interface CopyTarget {
  /** Unpacks the whole stream beside the database, over whatever an earlier attempt left. @throws SnapshotError */
  receive(copy: SnapshotStream, onBytes: (bytes: number) => void, signal: AbortSignal): Promise<void>;
  /** Puts it in the place of what stands there. @throws SnapshotError */
  install(old: ReplacedDatabase): Promise<void>;
  /** For a copy. */
  freeSpace(): Promise<{ readonly bytes: number; readonly path: string }>;
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
  /** The same where a copy was begun in vain: that cost its source and the network something. */
  readonly failedMsMax: number;
  /** Waited for a byte of the source for this long: it is given up. Its PostgreSQL begins with a checkpoint, which takes its time. */
  readonly silenceMs: number;
}

/** `equal`: who had what the majority had when data was compared; null if it was not. */
export interface Candidates {
  readonly connected: readonly ReplicaId[];
  readonly leader: ReplicaId | null;
  readonly voters: readonly ReplicaId[];
  readonly equal: readonly ReplicaId[] | null;
}

/**
 * Whom to ask, best first: those that were found equal, and of them the leader last, which has enough to do. One that differs, too, may not have heard of it yet, and
 * would pass its difference on: so nobody else is asked while those that were equal are a majority of the voters, as they were then. They are waited for
 * in vain no longer than the group stands still: any majority that serves has one of them in it.
 */
export function rankSources({ connected, leader, voters, equal }: Candidates): ReplicaId[] {
  const isEqual = (peer: ReplicaId): boolean => equal?.includes(peer) ?? true;
  const restricted = 2 * voters.filter(isEqual).length > voters.length;
  const rank = (peer: ReplicaId): number => (isEqual(peer) ? 0 : 2) + (peer === leader ? 1 : 0);
  return connected
    .filter((peer) => !restricted || isEqual(peer))
    .toSorted((one, other) => rank(one) - rank(other));
}

/** When to give up: after so many rounds in which nobody that was asked could help, or looks at which there was nobody to ask. */
export interface Patience {
  readonly rounds: number;
  readonly looks: number;
}

export interface CopyRequest {
  /** Null: without end. */
  readonly patience: Patience | null;
  /** Whether the replica's log goes on from this pointer. */
  readonly isOfUse: (pointer: Slot) => boolean;
  /** Their copies were too old: others first. */
  readonly askedLast: ReadonlySet<ReplicaId>;
  readonly old: ReplacedDatabase;
}

/** `gaveUp`: patience has ended. */
export type TransferOutcome =
  | { readonly kind: 'installed'; readonly from: ReplicaId }
  | { readonly kind: 'gaveUp' | 'stopped' };

export async function transferState(
  options: StateTransferOptions,
  request: CopyRequest,
  signal: AbortSignal,
): Promise<TransferOutcome> {
  const { retryMs, retryMsMax, failedMsMax } = options;
  const { patience, askedLast } = request;
  const rank = (source: ReplicaId): number => (askedLast.has(source) ? 1 : 0);
  let refusedMs = retryMs;
  let failedMs = retryMs;
  for (let rounds = 0, looks = 0; !signal.aborted; ) {
    const sources = options.sources().toSorted((one, other) => rank(one) - rank(other));
    // Nobody to ask is not nobody that has one.
    if (sources.length > 0) rounds++;
    else looks++;
    let hasFailed = false;
    for (const source of sources) {
      if (signal.aborted) return { kind: 'stopped' };
      const result = await attempt(options, source, request, signal);
      if (result === 'installed') return { kind: 'installed', from: source };
      if (result !== 'refused') hasFailed = true;
      // Another one's copy is as large.
      if (result === 'noSpace') break;
    }
    if (patience !== null && (rounds >= patience.rounds || looks >= patience.looks))
      return { kind: 'gaveUp' };
    await pause(sources.length === 0 ? retryMs : hasFailed ? failedMs : refusedMs, signal);
    if (sources.length === 0) refusedMs = retryMs;
    else if (hasFailed) failedMs = Math.min(2 * failedMs, failedMsMax);
    else refusedMs = Math.min(2 * refusedMs, retryMsMax);
  }
  return { kind: 'stopped' };
}

/** `refused`: no byte of a copy was asked for. `noSpace`: none can be taken in here. */
type AttemptResult = 'installed' | 'refused' | 'failed' | 'noSpace';

async function attempt(
  { fetcher, target, tracker, logger, silenceMs }: StateTransferOptions,
  source: ReplicaId,
  { isOfUse, old }: CopyRequest,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const silence = new Silence(source, silenceMs, signal);
  let copy: SnapshotStream | null = null;
  let begun = false;
  try {
    silence.begin();
    copy = await fetcher.fetch(source, silence.signal);
    silence.end();
    // It may fail before it is read: whoever reads is told.
    copy.stream.on('error', () => undefined);
    const { stream, bytesTotal } = copy;
    silence.signal.addEventListener('abort', () => void stream.destroy(silence.reason));
    assertOfUse(copy, source, isOfUse);
    if (bytesTotal !== null) await assertSpace(target, bytesTotal);
    begun = true;
    tracker.attempt(source);
    const heard = {
      ...copy,
      stream: Readable.from(listen(stream, silence, () => tracker.receivedAll())),
    };
    const onBytes = (bytes: number): void => tracker.received(bytes, bytesTotal);
    // Not raced: once told to stop it must have let go of its files before anybody else receives into them.
    await target.receive(heard, onBytes, silence.signal);
    silence.signal.throwIfAborted();
    // The log may have let go of more meanwhile.
    assertOfUse(copy, source, isOfUse);
    await target.install(old);
    return 'installed';
  } catch (error) {
    if (!signal.aborted) {
      logger.warn({ err: error, source }, 'a copy of the database could not be had');
      tracker.failed(reasonOf(error, source), source);
    }
    // Said by the source it is about its own disk.
    if (copy !== null && error instanceof SnapshotError && error.code === 'noSpace') return 'noSpace';
    return begun ? 'failed' : 'refused';
  } finally {
    silence.close();
    copy?.stream.destroy();
  }
}

/** What a copy needs is known about from the beginning: better than to find out at the end, again and again. */
async function assertSpace(target: CopyTarget, bytesTotal: number): Promise<void> {
  const { bytes, path } = await target.freeSpace();
  if (bytes >= bytesTotal) return;
  const needed = `about ${megabytes(bytesTotal)} are needed in ${path}, and ${megabytes(bytes)} are free`;
  throw new SnapshotError('noSpace', `there is no space for the copy: ${needed}`);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

/** The name of the source stands beside it. */
function reasonOf(error: unknown, source: ReplicaId): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.startsWith(`${source}: `) ? message.slice(source.length + 2) : message;
}

function assertOfUse({ pointer }: SnapshotStream, source: ReplicaId, isOfUse: CopyRequest['isOfUse']): void {
  if (pointer === undefined || isOfUse(pointer)) return;
  throw new SnapshotError(
    'sourceUnavailable',
    `the database of ${source} is at slot ${pointer}, and this replica's log begins above`,
  );
}

/**
 * Gives up a source that is waited for in vain, or when the attempt is to end. What is done here between two waits, such as making files durable, takes the
 * time that it takes.
 */
class Silence {
  private readonly giveUp = new AbortController();
  private readonly source: ReplicaId;
  private readonly maxMs: number;
  private readonly outer: AbortSignal;
  private readonly onOuter = (): void => this.giveUp.abort(this.outer.reason);
  private timer: NodeJS.Timeout | undefined;

  constructor(source: ReplicaId, maxMs: number, outer: AbortSignal) {
    this.source = source;
    this.maxMs = maxMs;
    this.outer = outer;
    outer.addEventListener('abort', this.onOuter, { once: true });
  }

  get signal(): AbortSignal {
    return this.giveUp.signal;
  }

  get reason(): Error {
    return this.signal.reason as Error;
  }

  begin(): void {
    const { source, maxMs } = this;
    this.timer = setTimeout(() => {
      this.giveUp.abort(new SnapshotError('transferFailed', `${source} has sent nothing for ${maxMs} ms`));
    }, maxMs);
  }

  end(): void {
    clearTimeout(this.timer);
  }

  close(): void {
    this.end();
    this.outer.removeEventListener('abort', this.onOuter);
  }
}

/** The bytes as they come. Only while they are asked for and do not come is the source silent. */
async function* listen(stream: Readable, silence: Silence, onEnd: () => void): AsyncGenerator {
  try {
    silence.begin();
    for await (const chunk of stream) {
      silence.end();
      yield chunk;
      silence.begin();
    }
    onEnd();
  } finally {
    silence.end();
  }
}
