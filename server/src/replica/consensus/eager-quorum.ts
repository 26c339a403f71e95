/**
 * Asks for votes no sooner than they are needed: a quorum at once, the others a little later, many entries in one message.
 *
 * A leader that asks everybody at once makes every replica wake for every entry, though the votes of a quorum decide. The others are asked within `delayMs`, so a member of the quorum that stalls costs that much; where it
 * stays silent for `silentMs`, everybody is asked at once until it is seen who answers first.
 * Responsible for: who is asked at once, and what waits for the others. Messages may be late on any network: no rule of the protocol is touched (multipaxos/ knows nothing of this).
 * Invariants: messages to one peer leave in the order in which they were given; none waits longer than `delayMs`; what waits is bounded by `waitingBytesMax`, but for one message.
 */
import { sameBallot } from '../../multipaxos/ballot.ts';
import { memberName } from '../../multipaxos/configuration.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { Accept, Message } from '../../multipaxos/types/messages.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { Timers } from '../../ports/clock.ts';

export interface EagerQuorumOptions {
  readonly self: ReplicaId;
  readonly send: (to: ReplicaId, message: Message) => void;
  readonly timers: Pick<Timers, 'nowMs' | 'after'>;
  readonly delayMs: number;
  readonly silentMs: number;
  readonly waitingBytesMax: number;
}

export class EagerQuorum {
  private readonly options: EagerQuorumOptions;
  /** Votes of others that make a quorum with this replica's own. */
  private needed = Number.POSITIVE_INFINITY;
  private voters: ReadonlySet<ReplicaId> = new Set();
  /** Null: it is not known yet who answers first, and everybody is asked at once. */
  private eager: Set<ReplicaId> | null = null;
  /** Who has answered since everybody was asked, the first one first. */
  private readonly answered = new Set<ReplicaId>();
  /** The last slot for which votes were asked at once, and how far each of the eager ones has answered. */
  private askedTo = 0 as Slot;
  private readonly votedTo = new Map<ReplicaId, Slot>();
  /** Since when some of the eager ones owe an answer and give none; null: none of them does. */
  private owingSinceMs: number | null = null;
  private readonly waiting = new Map<ReplicaId, Accept[]>();
  private waitingBytes = 0;
  private cancel: (() => void) | null = null;

  constructor(options: EagerQuorumOptions) {
    this.options = options;
  }

  configure({ members }: Configuration): void {
    const voters = members.filter(({ role }) => role === 'voter');
    this.voters = new Set(voters.map(({ replica, incarnation }) => memberName(replica, incarnation)));
    this.needed = Math.floor(voters.length / 2) + 1 - (this.voters.has(this.options.self) ? 1 : 0);
    this.askEverybody();
  }

  send(to: ReplicaId, message: Message): void {
    if (message.kind !== 'Accept' || this.isEager(to)) {
      this.flush(to);
      if (message.kind === 'Accept') this.note(message);
      this.options.send(to, message);
      return;
    }
    const queue = this.waiting.get(to);
    if (queue === undefined) this.waiting.set(to, [message]);
    else queue.push(message);
    this.waitingBytes += bytesOf(message);
    if (this.waitingBytes > this.options.waitingBytesMax) this.flushAll();
    else this.cancel ??= this.options.timers.after(this.options.delayMs, () => this.due());
  }

  /** `from` has voted up to `slot`. */
  accepted(from: ReplicaId, slot: Slot): void {
    if (!this.voters.has(from)) return;
    if (this.eager === null) {
      this.answered.add(from);
      if (this.answered.size < this.needed) return;
      this.eager = new Set(this.answered);
      this.owingSinceMs = null;
    }
    if (!this.eager.has(from)) return;
    if (slot > (this.votedTo.get(from) ?? 0)) this.votedTo.set(from, slot);
    const owes = [...this.eager].some((peer) => (this.votedTo.get(peer) ?? 0) < this.askedTo);
    this.owingSinceMs = owes ? this.options.timers.nowMs() : null;
  }

  stop(): void {
    this.cancel?.();
    this.cancel = null;
    this.waiting.clear();
    this.waitingBytes = 0;
  }

  private isEager(peer: ReplicaId): boolean {
    return this.eager === null || this.eager.has(peer);
  }

  private note({ firstSlot, entries }: Accept): void {
    const last = firstSlot + entries.length - 1;
    if (last > this.askedTo) this.askedTo = last as Slot;
    this.owingSinceMs ??= this.options.timers.nowMs();
  }

  private due(): void {
    this.cancel = null;
    this.flushAll();
    const { timers, silentMs } = this.options;
    if (this.owingSinceMs !== null && timers.nowMs() - this.owingSinceMs > silentMs) this.askEverybody();
  }

  /** Until it is seen who answers first, such as at the beginning of a leadership. */
  askEverybody(): void {
    this.flushAll();
    this.eager = null;
    this.answered.clear();
    this.votedTo.clear();
    this.owingSinceMs = null;
  }

  private flushAll(): void {
    for (const peer of this.waiting.keys()) this.flush(peer);
  }

  private flush(to: ReplicaId): void {
    const queue = this.waiting.get(to);
    if (queue === undefined) return;
    this.waiting.delete(to);
    for (const message of queue) this.waitingBytes -= bytesOf(message);
    for (const message of joined(queue)) this.options.send(to, message);
  }
}

/** Accepts for slots that follow one another in one ballot become one: whoever receives it reads, writes and answers once. */
function joined(queue: readonly Accept[]): readonly Accept[] {
  const runs: Accept[][] = [];
  for (const message of queue) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run !== undefined && last !== undefined && follows(message, last)) run.push(message);
    else runs.push([message]);
  }
  return runs.map(join);
}

function follows({ ballot, firstSlot }: Accept, before: Accept): boolean {
  return firstSlot === before.firstSlot + before.entries.length && sameBallot(ballot, before.ballot);
}

/** The lease goes by when the first one was sent, and the newest commit point counts. */
function join(run: readonly Accept[]): Accept {
  const [first, last] = [run[0]!, run.at(-1)!];
  if (run.length === 1) return first;
  return { ...first, entries: run.flatMap(({ entries }) => entries), commitPoint: last.commitPoint };
}

function bytesOf({ entries }: Accept): number {
  let bytes = 0;
  for (const entry of entries) if (entry.kind === 'command') bytes += entry.payload.byteLength;
  return bytes;
}
