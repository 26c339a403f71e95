/**
 * Group commit into ZooKeeper: gathers the appends that wait into one multi, and has a few of those under way at a time.
 *
 * Invariants kept:
 * - Each group takes the next turn of the writer's node (link.ts), so groups take effect in the order in which they were built, all of them up
 *   to some group and none behind it; one that fails takes all behind it along.
 * - An append is answered when its group is known to be written. After a broken connection the writer's node tells how many were; the rest is
 *   sent again, and cannot take effect twice.
 * - After an error that leaves anything else open nothing is written any more.
 */
import { LogStoreError } from '../../ports/log-store.ts';
import { codeOf, create, multi } from './client/protocol.ts';
import type { Contents } from './contents.ts';
import { asLogStoreError } from './errors.ts';
import { buildGroup, type Group } from './group.ts';
import type { Ballot, Slot } from '../../multipaxos/types/names.ts';
import type { LogPaths, VoteNode } from './layout.ts';
import { isBroken, type Link, type Turn } from './link.ts';
import { REQUEST_BYTES_MAX, type Unit } from './units.ts';

/** More do not make it faster: ZooKeeper writes what has come to its disk together. */
const GROUPS_IN_FLIGHT_MAX = 4;

interface Waiting {
  readonly unit: Unit;
  readonly resolve: () => void;
  readonly reject: (error: LogStoreError) => void;
}

interface Sent {
  readonly group: Group;
  readonly batch: readonly Waiting[];
  /** What it was sent with, the last time. */
  before: Turn;
}

type Answer =
  | { readonly kind: 'written' }
  | { readonly kind: 'refused'; readonly error: unknown }
  /** Whether it was written is unknown. */
  | { readonly kind: 'broken' };

export interface GroupWriter {
  /** Resolves when all units are written. @throws LogStoreError */
  readonly append: (units: readonly Unit[]) => Promise<void>;
  /** Waits for what is under way, then refuses. */
  readonly close: () => Promise<void>;
}

export interface GroupWriterOptions {
  readonly paths: LogPaths;
  readonly link: Link;
  readonly contents: Contents;
  readonly turn: Turn;
  readonly owner: string;
  /** Told of the votes whose entries, or more, are not needed any more. */
  readonly onReplaced: (replaced: ReadonlyMap<Slot, VoteNode>) => void;
  /** Removes pieces that were written for nothing. */
  readonly removeUnused: (paths: readonly string[]) => Promise<void>;
}

export function createGroupWriter(options: GroupWriterOptions): GroupWriter {
  const { paths, link, contents } = options;
  const waiting: Waiting[] = [];
  let sent: Sent[] = [];
  let turn = options.turn;
  let failed: LogStoreError | null = null;
  let closed = false;
  let running: Promise<void> | null = null;
  let tags = 0;

  const append = async (units: readonly Unit[]): Promise<void> => {
    if (closed) throw new LogStoreError('logClosed', 'the log is closed');
    if (failed !== null) throw failed;
    const all = units.map(
      (unit) => new Promise<void>((resolve, reject) => waiting.push({ unit, resolve, reject })),
    );
    running ??= run();
    await Promise.all(all);
  };

  const run = async (): Promise<void> => {
    // Lets everything that this turn of the event loop has to append join the first group.
    await new Promise(setImmediate);
    try {
      await pump();
    } catch (error) {
      failed = asLogStoreError(error, 'appending to the log in ZooKeeper');
      rejectAll(failed);
    }
    running = null;
  };

  const pump = async (): Promise<void> => {
    const answers: Promise<Answer>[] = [];
    while (waiting.length > 0 || answers.length > 0) {
      while (waiting.length > 0 && answers.length < GROUPS_IN_FLIGHT_MAX) {
        const next = build(takeBatch(waiting));
        sent.push(next);
        answers.push(send(next));
      }
      const answer = await (answers.shift() as Promise<Answer>);
      if (answer.kind === 'written') {
        settle(sent.shift() as Sent);
        // Those who were just answered append their next records before the next group is closed.
        await new Promise(setImmediate);
        continue;
      }
      // Nothing behind it can have been written, but its answers must be in before anything is sent again.
      await Promise.all(answers.splice(0));
      if (answer.kind === 'broken') await sendAgain();
      else await refuse(answer.error);
    }
  };

  /** What the next group builds on: the groups under way, from the newest, and then what is durable. */
  const build = (batch: readonly Waiting[]): Sent => {
    const units = batch.map(({ unit }) => unit);
    const meta = sent.at(-1)?.group.meta ?? contents.meta();
    const vote = (slot: Slot): VoteNode | null => {
      for (let i = sent.length - 1; i >= 0; i--) {
        const found = (sent[i] as Sent).group.change.votes.get(slot);
        if (found !== undefined) return found;
      }
      return contents.get(slot);
    };
    const slotPromise = (slot: Slot): Ballot | null => {
      for (let i = sent.length - 1; i >= 0; i--) {
        const found = (sent[i] as Sent).group.change.slotPromises.get(slot);
        if (found !== undefined) return found;
      }
      return contents.slotPromise(slot);
    };
    const tag = `${options.owner}x${(tags++).toString(36)}`;
    const group = buildGroup(units, { paths, meta, vote, slotPromise, tag });
    return { group, batch, before: turn };
  };

  /** Takes the next turn. Never rejects. */
  const send = async (one: Sent): Promise<Answer> => {
    const { pieces, ops } = one.group;
    const { ops: turnOps, next } = link.turnOps(turn);
    one.before = turn;
    turn = next;
    const sentPieces = pieces.map(({ path, data }) => link.request(create(path, data)));
    const written = link.request(multi([...turnOps, ...ops]));
    const problems: unknown[] = [];
    for (const result of await Promise.allSettled(sentPieces)) {
      // There already from before a connection broke: pieces never change.
      if (result.status === 'rejected' && codeOf(result.reason) !== 'nodeExists')
        problems.push(result.reason);
    }
    const failure = await written.catch((error: unknown) => ({ error }));
    if (failure === null) return { kind: 'written' };
    problems.push(failure.error);
    return problems.some(isBroken) ? { kind: 'broken' } : { kind: 'refused', error: problems[0] };
  };

  const settle = ({ group, batch }: Sent): void => {
    const replaced = contents.apply(group.change);
    for (const one of batch) one.resolve();
    if (replaced.size > 0) options.onReplaced(replaced);
  };

  const sendAgain = async (): Promise<void> => {
    turn = await link.regain();
    while (sent[0] !== undefined && sent[0].before.sequence < turn.sequence) settle(sent.shift() as Sent);
    // One at a time: the connection has just shown that it can break.
    while (sent[0] !== undefined) {
      const answer = await send(sent[0]);
      if (answer.kind === 'broken') return sendAgain();
      if (answer.kind === 'refused') return refuse(answer.error);
      settle(sent.shift() as Sent);
    }
  };

  /** The first group under way was refused, and with it those behind it, which were built on it. */
  const refuse = async (error: unknown): Promise<void> => {
    const code = codeOf(error);
    if (code === 'badVersion' || code === 'noNode') {
      const message = `another process has taken over ${paths.paxos} in ZooKeeper`;
      throw new LogStoreError('logFailed', message, { cause: error });
    }
    const failure = asLogStoreError(error, 'appending to the log in ZooKeeper');
    if (failure.code !== 'logFull') throw failure;
    if (sent[0]?.batch.some(({ unit }) => unit.isContinued)) {
      const message = `a part of an append is there, and the rest is not: ${failure.message}`;
      throw new LogStoreError('logFailed', message, { cause: error });
    }
    turn = sent[0]?.before ?? turn;
    const unused = sent.flatMap(({ group }) => group.pieces.map(({ path }) => path));
    // Before anybody tries again: they take the space that is wanted.
    await options.removeUnused(unused);
    rejectAll(failure);
  };

  const rejectAll = (error: LogStoreError): void => {
    for (const { batch } of sent) for (const one of batch) one.reject(error);
    sent = [];
    for (const one of waiting.splice(0)) one.reject(error);
  };

  return {
    append,
    async close() {
      closed = true;
      await running;
    },
  };
}

/** The units of the next group: as many as wait and fit one request. */
function takeBatch(waiting: Waiting[]): Waiting[] {
  let bytes = 0;
  let count = 0;
  while (count < waiting.length) {
    const { unit } = waiting[count] as Waiting;
    bytes += unit.bytes;
    if (count > 0 && (bytes > REQUEST_BYTES_MAX || unit.isPurge)) break;
    count++;
    if (unit.isPurge) break;
  }
  return waiting.splice(0, count);
}
