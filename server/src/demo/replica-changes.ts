/**
 * Replicas of the demo that come, go and are replaced while it runs, and what became of the change that was asked for last.
 *
 * Responsible for: one change at a time, the order of a replacement, and going on with it when the demo is started again. How one comes or goes is replica-steps.ts, how long it is waited for joining.ts; the leader decides what is safe.
 * Invariants: of a replacement the old replica is removed only when the new one votes, whoever looks at it meanwhile; the wait is bounded, and a removal of the new one gives it up; it is written down before the leader is asked for the new one, until it has ended.
 */
import type { ReplicaChangeRequest, ReplicaChangeStatus } from '../api/replica-changes.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { refused } from './fault-outcome.ts';
import { checkedText, goneText, type Join, type JoinEnd, joining, lateText, untilJoined } from './joining.ts';
import { createReplicaSteps, type ReplicaStepsOptions } from './replica-steps.ts';

const lookMs = 500;
const votesMinutesMax = 60;
const idleText = 'A new replica is a learner until it has caught up; then it votes.';

export type ChangeOutcome =
  | { readonly ok: true; readonly replica: string; readonly message: string }
  | { readonly ok: false; readonly code: string; readonly message: string };

export interface ReplicaChanges {
  /** Resolves when it is made; of a replacement, when the new one was started. */
  change(request: ReplicaChangeRequest): Promise<ChangeOutcome>;
  status(): ReplicaChangeStatus;
  /** Waits no longer: both replicas stay, and the next demo in the directory goes on. */
  close(): Promise<void>;
}

export interface ReplicaChangesOptions extends ReplicaStepsOptions {
  /** Default: two looks a second, for an hour. */
  readonly waiting?: { readonly everyMs: number; readonly msMax: number };
  /** What the demo before this one was waiting for when it ended; null: nothing. */
  readonly before: Join | null;
  /** Writes down what is waited for; null: nothing. */
  readonly noteJoin: (join: Join | null) => Promise<void>;
}

interface Watch extends Join {
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

export function createReplicaChanges(given: ReplicaChangesOptions): ReplicaChanges {
  const { supervisor, options, look, noteJoin } = given;
  const waiting = given.waiting ?? { everyMs: lookMs, msMax: votesMinutesMax * 60_000 };
  const steps = createReplicaSteps(given);
  let busy = false;
  let closed = false;
  let watch: Watch | null = null;
  let status: ReplicaChangeStatus = { state: 'idle', text: idleText, added: null, replaced: null };

  function tell(state: 'asked' | 'done' | 'failed', text: string): void {
    status = { state, text, added: null, replaced: null };
  }

  function begin(join: Join): void {
    if (closed) return;
    const abort = new AbortController();
    status = joining(join, undefined);
    watch = { ...join, abort, ended: follow(join, abort.signal) };
  }

  async function follow(join: Join, signal: AbortSignal): Promise<void> {
    const end = await untilJoined(join, {
      look,
      onLook: (member) => (status = joining(join, member)),
      ...waiting,
      signal,
    });
    if (signal.aborted) return;
    watch = null;
    await carryOut(() => finish(join, end));
  }

  async function finish(join: Join, end: JoinEnd): Promise<ChangeOutcome> {
    const outcome = await endOf(join, end);
    // Whoever could not be removed now is removed by a demo that is started again, unless something else was asked for meanwhile.
    if (outcome.ok || end !== 'votes') await forgetJoin();
    return outcome;
  }

  async function endOf(join: Join, end: JoinEnd): Promise<ChangeOutcome> {
    const { added, replaced } = join;
    if (end === 'late') return refused('timedOut', lateText(join, waiting.msMax));
    if (end === 'gone') return refused('unknownReplica', goneText(join));
    const outcome = replaced === null ? null : await remove(replaced);
    if (outcome !== null && (outcome.ok || outcome.code !== 'unknownReplica')) return outcome;
    // The demo ended in between, and all of it was done.
    const message = replaced === null ? `${added} votes.` : `${added} votes, and ${replaced} is gone.`;
    tell('done', message);
    return { ok: true, replica: added, message };
  }

  /** Where the demo ends meanwhile, what was begun may not be done: the next one looks. */
  async function forgetJoin(): Promise<void> {
    if (!closed) await noteJoin(null);
  }

  /** Nothing else is begun meanwhile, and what came of it is told to whoever asks later. */
  async function carryOut(work: () => Promise<ChangeOutcome>): Promise<ChangeOutcome> {
    busy = true;
    try {
      const outcome = await work();
      if (!outcome.ok) tell('failed', outcome.message);
      return outcome;
    } catch (error) {
      const { message } = error as Error;
      tell('failed', message);
      return refused('failed', message);
    } finally {
      busy = false;
    }
  }

  async function add(replaced: ReplicaId | null): Promise<ChangeOutcome> {
    tell('asked', 'The leader is asked to let another replica in…');
    if (replaced !== null) {
      const group = await look();
      if (group !== null && !group.members.some(({ replica }) => replica === replaced))
        return refused('unknownReplica', `${replaced} is no member: remove it, if it is still here.`);
    }
    const outcome = await steps.add((added, sinceVersion) => noteJoin({ added, replaced, sinceVersion }));
    if (!outcome.ok) {
      await forgetJoin();
      return outcome;
    }
    const { replica, version } = outcome;
    begin({ added: replica, replaced, sinceVersion: version });
    const then = replaced === null ? '' : `; when it does, ${replaced} goes`;
    return {
      ok: true,
      replica,
      message: `${replica} was started: it copies a database, catches up, then votes${then}`,
    };
  }

  async function remove(id: ReplicaId): Promise<ChangeOutcome> {
    tell('asked', `${id} is taken from the members…`);
    const outcome = await steps.remove(id);
    if (!outcome.ok) return outcome;
    const message = `${id} is no member any more; it was stopped and its data deleted`;
    tell('done', `${message}.`);
    return { ok: true, replica: id, message };
  }

  function whyNot(request: ReplicaChangeRequest): ChangeOutcome | null {
    const { protocol } = given.cluster;
    if (protocol !== 'multi-paxos')
      return refused('fixedMembers', `Members are fixed with --protocol ${protocol}.`);
    if (options.check)
      return refused(
        'unavailable',
        'The checker of --check knows the replicas of the start alone: start without it.',
      );
    if (busy) return refused('busy', 'Another change of the replicas is under way.');
    const { added = null, replaced = null } = watch ?? {};
    const givesUp = request.action === 'remove' && request.replica === added;
    if (replaced !== null && !givesUp)
      return refused('busy', `${added} is to replace ${replaced}. To give that up, remove ${added}.`);
    if (request.action === 'replace' && supervisor.plan(request.replica) === null)
      return refused('unknownReplica', `There is no replica ${request.replica}.`);
    return null;
  }

  async function giveUp(): Promise<void> {
    const ending = watch;
    watch = null;
    ending?.abort.abort();
    await ending?.ended;
  }

  function goOn(join: Join): void {
    if (options.check) tell('failed', checkedText(join));
    else if (supervisor.plan(join.added) === null) void carryOut(() => finish(join, 'gone'));
    else begin(join);
  }
  if (given.before !== null) goOn(given.before);

  return {
    async change(request) {
      const refusal = whyNot(request);
      if (refusal !== null) return refusal;
      return carryOut(async () => {
        await giveUp();
        await forgetJoin();
        switch (request.action) {
          case 'add':
            return add(null);
          case 'replace':
            return add(request.replica as ReplicaId);
          case 'remove':
            return remove(request.replica as ReplicaId);
          default:
            return request satisfies never;
        }
      });
    },
    status: () => status,
    close: () => {
      closed = true;
      return giveUp();
    },
  };
}
