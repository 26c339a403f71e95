/**
 * One replica of the demo that comes or goes: a new one is let in by the leader and started here; one that goes is taken from the members first, then stopped, and its data deleted.
 *
 * Responsible for: the order of the steps, what of it is refused, and what is written down for the next start. The leader decides what is safe. One at a time: replica-changes.ts sees to that.
 * Invariants: what the leader refuses leaves nothing behind; a replica is written down before the leader is asked for it, so that one which was let in is never forgotten; where nobody knows whether a
 * change was made, nothing is deleted, and the members tell; data are deleted only of a replica that is no member.
 */
import { rm } from 'node:fs/promises';
import type { AdminRefusal, MembersAnswer } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { DemoCluster } from './data-dir.ts';
import { type Refusal, refused } from './fault-outcome.ts';
import type { GroupMembers } from './group-members.ts';
import { requestJson } from './http-client.ts';
import { demoHost, type DemoOptions, planReplica, type ReplicaPlan } from './layout.ts';
import type { Supervisor } from './supervisor.ts';
import { untilMember } from './until-member.ts';

const replicasMax = 9;
const membersMs = 35_000;
const noLeader = 'No leader is known, whom to ask for it. Try again in a moment.';

export type StepOutcome =
  /** `version`: of a configuration that has it. */
  { readonly ok: true; readonly replica: ReplicaId; readonly version: number } | Refusal;

export interface ReplicaSteps {
  /** `before`: done before the leader is asked for it; `sinceVersion`: of a configuration that is older than the one that lets it in. */
  add(before: (id: ReplicaId, sinceVersion: number) => Promise<void>): Promise<StepOutcome>;
  remove(id: ReplicaId): Promise<StepOutcome>;
}

export interface ReplicaStepsOptions {
  readonly supervisor: Pick<Supervisor, 'plans' | 'plan' | 'add' | 'remove'>;
  readonly options: DemoOptions;
  readonly cluster: DemoCluster;
  /** The demo's own server, which knows the leader. */
  readonly askMembers: (body: object) => Promise<{ readonly status: number; readonly body: unknown }>;
  /** Null: nobody answers. */
  readonly look: () => Promise<GroupMembers | null>;
  readonly areFree: (ports: readonly number[]) => Promise<boolean>;
  readonly configure: (plan: ReplicaPlan, plans: readonly ReplicaPlan[]) => Promise<void>;
  readonly note: (cluster: DemoCluster) => Promise<void>;
  /** Default: 10 s. How long the members are looked at where nobody knows whether a change was made. */
  readonly doubtMsMax?: number;
}

/** Of the demo that listens on this port. */
export function askDemo(port: number): ReplicaStepsOptions['askMembers'] {
  return (body) => requestJson({ port, path: '/api/members', method: 'POST', body, timeoutMs: membersMs });
}

type Asked =
  | { readonly kind: 'done'; readonly version: number }
  /** It was not made. */
  | { readonly kind: 'refused'; readonly error: AdminRefusal['error'] }
  /** It may have been made, or may be yet. */
  | { readonly kind: 'unknown'; readonly message: string };

const unknownCodes: ReadonlySet<string> = new Set(['timedOut', 'unavailable', 'failed']);

export function createReplicaSteps(given: ReplicaStepsOptions): ReplicaSteps {
  const { supervisor, options, look, doubtMsMax = 10_000 } = given;
  let { cluster } = given;

  async function ask(body: object): Promise<Asked> {
    const answer = await given.askMembers(body).catch((error: Error) => ({
      status: 503,
      body: { error: { code: 'unavailable', message: error.message } },
    }));
    if (answer.status === 200) {
      const { membership } = (answer.body ?? {}) as Partial<MembersAnswer>;
      return { kind: 'done', version: membership?.version ?? 0 };
    }
    const { error } = (answer.body ?? {}) as Partial<AdminRefusal>;
    if (error === undefined) return { kind: 'unknown', message: 'The leader gave no sensible answer.' };
    return unknownCodes.has(error.code)
      ? { kind: 'unknown', message: error.message }
      : { kind: 'refused', error };
  }

  async function note(replicas: number, absent: readonly string[]): Promise<void> {
    cluster = { ...cluster, replicas, absent: [...absent] };
    await given.note(cluster);
  }

  const without = (id: string): readonly string[] => cluster.absent.filter((other) => other !== id);

  /** Whether it is a member, or none, by a configuration that is newer than what was known before it was asked for. */
  const settled = (replica: ReplicaId, isMember: boolean, sinceVersion: number): Promise<boolean> =>
    untilMember({
      isSo: (member) => (member !== undefined) === isMember,
      replica,
      sinceVersion,
      look,
      everyMs: 500,
      msMax: doubtMsMax,
    });

  /** The lowest number that no replica here has, and no member elsewhere. */
  function freePlan({ members }: GroupMembers): ReplicaPlan | null {
    const taken = new Set<string>(supervisor.plans().map(({ id }) => id));
    const plans = Array.from({ length: replicasMax }, (_, index) => planReplica(options, index + 1));
    const isElsewhere = ({ id, peerPort }: ReplicaPlan): boolean =>
      members.some(
        ({ replica, address }) => replica === id && (address.host !== demoHost || address.port !== peerPort),
      );
    return plans.find((plan) => !taken.has(plan.id) && !isElsewhere(plan)) ?? null;
  }

  async function add(doBefore: Parameters<ReplicaSteps['add']>[0]): Promise<StepOutcome> {
    const group = await look();
    if (group?.isLed !== true) return refused('unavailable', noLeader);
    const plan = freePlan(group);
    if (plan === null)
      return refused('tooMany', `A demo has at most ${replicasMax} replicas: remove one first.`);
    const { id, pgwirePort, peerPort, httpPort, thriftPort } = plan;
    const ports = [pgwirePort, peerPort, httpPort, ...(thriftPort === null ? [] : [thriftPort])];
    if (!(await given.areFree(ports)))
      return refused('portInUse', `${id} would listen on ports ${ports.join(', ')}, and not all are free.`);
    const before = cluster;
    await deleteFiles(plan);
    const plans = supervisor.plans();
    await given.configure(plan, [...plans, plan]);
    // First: where it cannot be done, no replica is written down that nobody would be asked for.
    await doBefore(id, group.version);
    await note(Math.max(cluster.replicas, numberOf(id)), without(id));
    const address = { host: demoHost, port: peerPort, pgwire: { host: demoHost, port: pgwirePort } };
    const asked = await ask({ action: 'add', replica: id, address });
    // Let in already, and never started: an earlier request was interrupted, or its answer was lost.
    const isThere = asked.kind === 'refused' && asked.error.code === 'exists';
    if (asked.kind === 'refused' && !isThere) {
      await note(before.replicas, before.absent);
      await deleteFiles(plan);
      return refused(asked.error.code, asked.error.message);
    }
    const isKnown = asked.kind !== 'unknown' || (await settled(id, true, group.version));
    if (!supervisor.add(plan))
      return refused('stopping', `The demo is stopping: ${id} is started with the others the next time.`);
    if (!isKnown)
      return refused(
        'timedOut',
        `Nobody knows yet whether ${id} was let in (${asked.kind === 'unknown' ? asked.message : ''}). It was started, and joins once it is; remove it if it is not to.`,
      );
    const was = group.members.some(({ replica }) => replica === id);
    const least = group.version + (was ? 0 : 1);
    return { ok: true, replica: id, version: asked.kind === 'done' ? Math.max(asked.version, least) : least };
  }

  async function remove(id: ReplicaId): Promise<StepOutcome> {
    const plan = supervisor.plan(id);
    if (plan !== null && supervisor.plans().length === 1)
      return refused('wouldLoseQuorum', `${id} is the only replica.`);
    const group = await look();
    if (group?.isLed !== true) return refused('unavailable', noLeader);
    // Of one without a process, too: it may have been let in and never started.
    const asked = await ask({ action: 'remove', replica: id });
    if (asked.kind === 'unknown') {
      const was = group.members.some(({ replica }) => replica === id);
      if (!was || !(await settled(id, false, group.version + 1)))
        return refused(
          'timedOut',
          `Nobody knows yet whether ${id} is a member (${asked.message}). It was left as it is: look at the members, and remove it again.`,
        );
    }
    if (asked.kind === 'refused') {
      // No member any more: an earlier removal was interrupted.
      const isGone = asked.error.code === 'unknownReplica';
      if (!isGone || plan === null)
        return refused(asked.error.code, isGone ? `There is no replica ${id}.` : asked.error.message);
    }
    if (plan !== null) {
      const problem = await supervisor.remove(id);
      if (problem !== null)
        return refused(
          'failed',
          `${id} is no member any more, but ${problem}. End it, and remove ${id} again.`,
        );
      await note(cluster.replicas, [...without(id), id]);
      await deleteFiles(plan);
    }
    return { ok: true, replica: id, version: asked.kind === 'done' ? asked.version : group.version };
  }

  return { add, remove };
}

function numberOf(id: ReplicaId): number {
  return Number(id.slice(1));
}

async function deleteFiles({ dir, configFile, logFile }: ReplicaPlan): Promise<void> {
  for (const path of [dir, configFile, logFile])
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
}
