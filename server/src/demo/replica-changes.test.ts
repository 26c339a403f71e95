import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { DemoCluster } from './data-dir.ts';
import { type DemoOptions, planReplica, planReplicas, type ReplicaPlan } from './layout.ts';
import { createReplicaChanges } from './replica-changes.ts';

interface Given {
  readonly answer?: { readonly status: number; readonly body: unknown };
  readonly protocol?: DemoCluster['protocol'];
  readonly check?: boolean;
  readonly free?: boolean;
}

function group({
  answer = { status: 200, body: {} },
  protocol = 'multi-paxos',
  check = false,
  free = true,
}: Given = {}) {
  const options = {
    dataDir: '/tmp/barista-no-such-demo',
    replicas: 3,
    port: 7432,
    dashboardPort: 8080,
    check,
  } as DemoOptions;
  const cluster = { replicas: 3, absent: [] as string[], protocol } as unknown as DemoCluster;
  let plans: readonly ReplicaPlan[] = planReplicas(options);
  const did: string[] = [];
  const changes = createReplicaChanges({
    options,
    cluster,
    supervisor: {
      plans: () => plans,
      plan: (id) => plans.find((plan) => plan.id === id) ?? null,
      add: (plan) => {
        did.push(`start ${plan.id}`);
        plans = [...plans, plan];
        return true;
      },
      remove: async (id) => {
        did.push(`stop ${id}`);
        plans = plans.filter((plan) => plan.id !== id);
        return null;
      },
    },
    askMembers: async (body) => {
      const { action, replica } = body as { readonly action: string; readonly replica: string };
      did.push(`${action} ${replica}`);
      return answer;
    },
    areFree: async () => free,
    configure: async (plan, all) => void did.push(`configure ${plan.id} of ${all.length}`),
    note: async ({ replicas, absent }) => void did.push(`note ${replicas} without ${absent.join()}`),
  });
  return { did, changes, ids: () => plans.map(({ id }) => id) };
}

describe('replicas of a demo', () => {
  it('come: let in by the leader, written down, then started', async () => {
    const { did, changes, ids } = group();
    expect(await changes.change({ action: 'add' })).toMatchObject({ ok: true, replica: 'r4' });
    expect(did).toEqual(['configure r4 of 4', 'add r4', 'note 4 without ', 'start r4']);
    expect(ids()).toEqual(['r1', 'r2', 'r3', 'r4']);
  });

  it('go: from the members first, then stopped; the next one that comes has the free number', async () => {
    const { did, changes, ids } = group();
    expect(await changes.change({ action: 'remove', replica: 'r2' })).toMatchObject({
      ok: true,
      replica: 'r2',
    });
    expect(did).toEqual(['remove r2', 'stop r2', 'note 3 without r2']);
    expect(await changes.change({ action: 'add' })).toMatchObject({ ok: true, replica: 'r2' });
    expect(did.at(-2)).toBe('note 3 without ');
    expect(ids()).toEqual(['r1', 'r3', 'r2']);
  });

  it('are as they were where the leader refuses, with its reason', async () => {
    const body = { error: { code: 'wouldLoseQuorum', message: 'too few would be left' } };
    const { did, changes, ids } = group({ answer: { status: 409, body } });
    const refused = { ok: false, code: 'wouldLoseQuorum', message: 'too few would be left' };
    expect(await changes.change({ action: 'remove', replica: 'r1' })).toEqual(refused);
    expect(await changes.change({ action: 'add' })).toEqual(refused);
    expect(did.filter((each) => /^(note|start|stop)/.test(each))).toEqual([]);
    expect(ids()).toEqual(['r1', 'r2', 'r3']);
  });

  it('neither come nor go where members are fixed, a checker watches, or a port is taken; and one at a time', async () => {
    const code = async (given: Given): Promise<unknown> => group(given).changes.change({ action: 'add' });
    expect(await code({ protocol: 'paxos' })).toMatchObject({ code: 'fixedMembers' });
    expect(await code({ check: true })).toMatchObject({ code: 'unavailable' });
    expect(await code({ free: false })).toMatchObject({ code: 'portInUse' });
    const { changes } = group();
    expect(await changes.change({ action: 'remove', replica: 'r7' })).toMatchObject({
      code: 'unknownReplica',
    });
    const first = changes.change({ action: 'add' });
    expect(await changes.change({ action: 'add' })).toMatchObject({ code: 'busy' });
    expect(await first).toMatchObject({ ok: true });
  });
});

it('a demo that is started again has the replicas that are left, each with the ports of its number', () => {
  const options = {
    dataDir: '/d',
    replicas: 4,
    absent: ['r2'],
    port: 7432,
    dashboardPort: 8080,
  } as unknown as DemoOptions;
  const plans = planReplicas(options);
  expect(plans.map(({ id }) => id)).toEqual(['r1', 'r3', 'r4']);
  expect(plans[1]).toEqual(planReplica(options, 3));
  expect(plans[1]).toMatchObject({ id: 'r3' as ReplicaId, pgwirePort: 7434, httpPort: 8083 });
});
