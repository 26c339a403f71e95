/**
 * Replicas of the demo that come and go while it runs: a new one is let in by the leader and started here; one that goes is taken from the members first, then stopped, and its data deleted.
 *
 * Responsible for: the order of the steps, what of it is refused, and what is written down for the next start. The leader decides what is safe; whether the new one votes it decides itself.
 * Invariants: one change at a time; what the leader refuses leaves nothing behind; a replica is written down before it is started, and its data are deleted only when it is no member.
 */
import { rm } from 'node:fs/promises';
import type { AdminRefusal } from '../api/status.ts';
import type { ReplicaChangeRequest } from '../api/replica-changes.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { DemoCluster } from './data-dir.ts';
import { requestJson } from './http-client.ts';
import { demoHost, type DemoOptions, planReplica, type ReplicaPlan } from './layout.ts';
import type { Supervisor } from './supervisor.ts';

const replicasMax = 9;
const membersMs = 35_000;

export type ChangeOutcome =
  | { readonly ok: true; readonly replica: string; readonly message: string }
  | { readonly ok: false; readonly code: string; readonly message: string };

export interface ReplicaChanges {
  change(request: ReplicaChangeRequest): Promise<ChangeOutcome>;
}

export interface ReplicaChangesOptions {
  readonly supervisor: Pick<Supervisor, 'plans' | 'plan' | 'add' | 'remove'>;
  readonly options: DemoOptions;
  readonly cluster: DemoCluster;
  /** The demo's own server, which knows the leader. */
  readonly askMembers: (body: object) => Promise<{ readonly status: number; readonly body: unknown }>;
  readonly areFree: (ports: readonly number[]) => Promise<boolean>;
  readonly configure: (plan: ReplicaPlan, plans: readonly ReplicaPlan[]) => Promise<void>;
  readonly note: (cluster: DemoCluster) => Promise<void>;
}

/** Of the demo that listens on this port. */
export function askDemo(port: number): ReplicaChangesOptions['askMembers'] {
  return (body) => requestJson({ port, path: '/api/members', method: 'POST', body, timeoutMs: membersMs });
}

export function createReplicaChanges(given: ReplicaChangesOptions): ReplicaChanges {
  const { supervisor, options, askMembers } = given;
  let { cluster } = given;
  let busy = false;

  /** Null: it was done. */
  async function refusalOf(body: object): Promise<AdminRefusal['error'] | null> {
    const answer = await askMembers(body).catch((error: Error) => ({
      status: 503,
      body: { error: { code: 'unavailable', message: error.message } },
    }));
    if (answer.status === 200) return null;
    const { error } = (answer.body ?? {}) as Partial<AdminRefusal>;
    return error ?? { code: 'failed', message: 'The leader gave no sensible answer.' };
  }

  async function note(replicas: number, absent: readonly string[]): Promise<void> {
    cluster = { ...cluster, replicas, absent: [...absent] };
    await given.note(cluster);
  }

  async function add(): Promise<ChangeOutcome> {
    const plans = supervisor.plans();
    const taken = new Set<string>(plans.map(({ id }) => id));
    const number = Array.from({ length: replicasMax }, (_, index) => index + 1).find(
      (n) => !taken.has(`r${n}`),
    );
    if (number === undefined)
      return refused('tooMany', `A demo has at most ${replicasMax} replicas: remove one first.`);
    const plan = planReplica(options, number);
    const { id, pgwirePort, peerPort, httpPort, thriftPort } = plan;
    const ports = [pgwirePort, peerPort, httpPort, ...(thriftPort === null ? [] : [thriftPort])];
    if (!(await given.areFree(ports)))
      return refused('portInUse', `${id} would listen on ports ${ports.join(', ')}, and not all are free.`);
    await deleteFiles(plan);
    await given.configure(plan, [...plans, plan]);
    const address = { host: demoHost, port: peerPort, pgwire: { host: demoHost, port: pgwirePort } };
    const error = await refusalOf({ action: 'add', replica: id, address });
    if (error !== null) {
      await deleteFiles(plan);
      return refused(error.code, error.message);
    }
    await note(
      Math.max(cluster.replicas, number),
      cluster.absent.filter((other) => other !== id),
    );
    if (!supervisor.add(plan))
      return refused('stopping', `The demo is stopping: ${id} is started with the others the next time.`);
    return {
      ok: true,
      replica: id,
      message: `${id} was started: it copies a database, catches up, then votes`,
    };
  }

  async function remove(id: ReplicaId): Promise<ChangeOutcome> {
    const plan = supervisor.plan(id);
    if (plan === null) return refused('unknownReplica', `There is no replica ${id}.`);
    if (supervisor.plans().length === 1) return refused('wouldLoseQuorum', `${id} is the only replica.`);
    const error = await refusalOf({ action: 'remove', replica: id });
    // No member any more: an earlier removal was interrupted.
    if (error !== null && error.code !== 'unknownReplica') return refused(error.code, error.message);
    const problem = await supervisor.remove(id);
    if (problem !== null)
      return refused(
        'failed',
        `${id} is no member any more, but ${problem}. End it, and remove ${id} again.`,
      );
    await note(cluster.replicas, [...cluster.absent.filter((other) => other !== id), id]);
    await deleteFiles(plan);
    return {
      ok: true,
      replica: id,
      message: `${id} is no member any more; it was stopped and its data deleted`,
    };
  }

  return {
    async change(request) {
      if (cluster.protocol !== 'multi-paxos')
        return refused('fixedMembers', `Members are fixed with --protocol ${cluster.protocol}.`);
      if (options.check)
        return refused(
          'unavailable',
          'The checker of --check knows the replicas of the start alone: start without it.',
        );
      if (busy) return refused('busy', 'Another change of the replicas is under way.');
      busy = true;
      try {
        return request.action === 'add' ? await add() : await remove(request.replica as ReplicaId);
      } finally {
        busy = false;
      }
    },
  };
}

function refused(code: string, message: string): ChangeOutcome {
  return { ok: false, code, message };
}

async function deleteFiles({ dir, configFile, logFile }: ReplicaPlan): Promise<void> {
  for (const path of [dir, configFile, logFile])
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
}
