/**
 * Replicas of the demo that come, go and are replaced while it runs, and what became of the change that was asked for last.
 *
 * Responsible for: one change at a time, the order of a replacement, and waiting until the new one votes. How one comes or goes is replica-steps.ts; the leader decides what is safe.
 * Invariants: of a replacement the old replica is removed only when the new one votes, whoever looks at it meanwhile; the wait is bounded, and a removal of the new one gives it up.
 */
import type { ReplicaChangeRequest, ReplicaChangeStatus } from '../api/replica-changes.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { refused } from './fault-outcome.ts';
import type { GroupMembers } from './group-members.ts';
import { createReplicaSteps, type ReplicaStepsOptions } from './replica-steps.ts';
import { untilMember } from './until-member.ts';

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
  /** Gives up what is waited for: both replicas stay. */
  close(): Promise<void>;
}

export interface ReplicaChangesOptions extends ReplicaStepsOptions {
  /** Default: two looks a second, for an hour. */
  readonly waiting?: { readonly everyMs: number; readonly msMax: number };
}

/** Until `added` votes; then `replaced` goes. */
interface Join {
  readonly added: ReplicaId;
  readonly replaced: ReplicaId | null;
  readonly sinceVersion: number;
}

interface Watch extends Join {
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

export function createReplicaChanges(given: ReplicaChangesOptions): ReplicaChanges {
  const { supervisor, options, look } = given;
  const waiting = given.waiting ?? { everyMs: lookMs, msMax: votesMinutesMax * 60_000 };
  const steps = createReplicaSteps(given);
  let busy = false;
  let watch: Watch | null = null;
  let status: ReplicaChangeStatus = { state: 'idle', text: idleText, added: null, replaced: null };

  function tell(state: 'asked' | 'done' | 'failed', text: string): void {
    status = { state, text, added: null, replaced: null };
  }

  function begin(join: Join): void {
    const abort = new AbortController();
    status = joining(join, undefined);
    watch = { ...join, abort, ended: follow(join, abort.signal) };
  }

  async function follow(join: Join, signal: AbortSignal): Promise<void> {
    const { added, replaced, sinceVersion } = join;
    const votes = await untilMember({
      isSo: (member) => member?.role === 'voter',
      replica: added,
      sinceVersion,
      look,
      onLook: (member) => (status = joining(join, member)),
      ...waiting,
      signal,
    });
    if (signal.aborted) return;
    watch = null;
    if (!votes) tell('failed', lateText(join, waiting.msMax));
    else if (replaced === null) tell('done', `${added} votes.`);
    else await carryOut(() => remove(replaced));
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
    const outcome = await steps.add();
    if (!outcome.ok) return outcome;
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

  async function close(): Promise<void> {
    const ending = watch;
    watch = null;
    ending?.abort.abort();
    await ending?.ended;
  }

  return {
    async change(request) {
      const refusal = whyNot(request);
      if (refusal !== null) return refusal;
      return carryOut(async () => {
        await close();
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
    close,
  };
}

function joining(
  { added, replaced }: Join,
  member: GroupMembers['members'][number] | undefined,
): ReplicaChangeStatus {
  const now =
    member === undefined || member.incarnation === 0
      ? `${added} was started, and is expected`
      : `${added} is a learner: it copies a database and catches up`;
  const then = replaced === null ? 'then it votes' : `when it votes, ${replaced} goes`;
  return { state: 'joining', text: `${now}; ${then}.`, added, replaced };
}

function lateText({ added, replaced }: Join, msMax: number): string {
  const late = `${added} does not vote after ${Math.round(msMax / 60_000)} minutes: its output says why.`;
  return replaced === null ? late : `${late} ${replaced} was not removed.`;
}
