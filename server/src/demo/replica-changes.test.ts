/** Replicas of a demo that come, go and are replaced: in which order, what is refused, and what is done where nobody knows whether a change was made. The leader and the processes are in memory. */
import { describe, expect, it } from 'vitest';
import type { MembershipStatus } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { DemoCluster } from './data-dir.ts';
import { type DemoOptions, demoHost, planReplica, planReplicas, type ReplicaPlan } from './layout.ts';
import type { Join } from './joining.ts';
import { createReplicaChanges } from './replica-changes.ts';

type Member = MembershipStatus['members'][number];
interface Answer {
  readonly status: number;
  readonly body: unknown;
}

interface Given {
  /** What the leader says instead of making the change; `lost`: it makes it, and says that it does not know. */
  readonly answer?: Answer | 'lost';
  readonly protocol?: DemoCluster['protocol'];
  readonly check?: boolean;
  readonly free?: boolean;
  readonly isLed?: boolean;
  /** What is written down by an earlier demo, and the numbers of the replicas that it left here. */
  readonly before?: Join | null;
  readonly here?: readonly number[];
  /** Members at first. */
  readonly voters?: readonly number[];
  readonly learners?: readonly number[];
  /** The leader does not answer before. */
  readonly until?: Promise<void>;
}

const timedOut: Answer = {
  status: 409,
  body: { error: { code: 'timedOut', message: 'not known to be chosen' } },
};

function group({
  answer,
  protocol = 'multi-paxos',
  check = false,
  free = true,
  isLed = true,
  before = null,
  here = [1, 2, 3],
  voters = [1, 2, 3],
  learners = [],
  until = Promise.resolve(),
}: Given = {}) {
  const options = {
    dataDir: '/tmp/barista-no-such-demo',
    replicas: 3,
    port: 7432,
    dashboardPort: 8080,
    check,
  } as DemoOptions;
  const cluster = { replicas: 3, absent: [] as string[], protocol } as unknown as DemoCluster;
  let plans: readonly ReplicaPlan[] = here.map((number) => planReplica(options, number));
  let version = 3;
  let members: readonly Member[] = [
    ...voters.map((number) => memberOf(planReplica(options, number), 'voter')),
    ...learners.map((number) => memberOf(planReplica(options, number), 'learner')),
  ];
  const did: string[] = [];
  const make = (action: string, replica: string): Answer => {
    const isThere = members.some((member) => member.replica === replica);
    if (action === 'add' && isThere) return error('exists', `${replica} is a member already.`);
    if (action === 'remove' && !isThere) return error('unknownReplica', `${replica} is no member.`);
    version += 1;
    members =
      action === 'remove'
        ? members.filter((member) => member.replica !== replica)
        : [...members, memberOf(planReplica(options, Number(replica.slice(1))), 'learner')];
    return { status: 200, body: { ok: true, membership: { version, members } } };
  };
  let kept = before;
  const changes = createReplicaChanges({
    before,
    noteJoin: async (join) => void (kept = join),
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
      await until;
      if (answer === undefined) return make(action, replica);
      if (answer !== 'lost') return answer;
      make(action, replica);
      return timedOut;
    },
    look: async () => ({ version, members, isLed }),
    areFree: async () => free,
    configure: async (plan, all) => void did.push(`configure ${plan.id} of ${all.length}`),
    note: async ({ replicas, absent }) => void did.push(`note ${replicas} without ${absent.join()}`),
    doubtMsMax: 20,
    waiting: { everyMs: 1, msMax: 300 },
  });
  return {
    did,
    changes,
    /** What a demo that is started again would read. */
    kept: () => kept,
    ids: () => plans.map(({ id }) => id),
    members: () => members.map(({ replica }) => replica),
    /** Behind the demo's back, as a replica that joins does it, or the command line. */
    set: (next: readonly Member[], of = version + 1) => {
      version = of;
      members = next;
    },
    memberOf: (number: number, role: Member['role']) => memberOf(planReplica(options, number), role),
  };
}

function memberOf({ id, peerPort, pgwirePort }: ReplicaPlan, role: Member['role']): Member {
  const pgwire = { host: demoHost, port: pgwirePort };
  const incarnation = role === 'voter' ? 1 : 0;
  return { replica: id, incarnation, role, address: { host: demoHost, port: peerPort, pgwire } };
}

function error(code: string, message: string): Answer {
  return { status: 409, body: { error: { code, message } } };
}

describe('replicas of a demo', () => {
  it('come: written down, let in by the leader, then started', async () => {
    const { did, changes, ids } = group();
    expect(await changes.change({ action: 'add' })).toMatchObject({ ok: true, replica: 'r4' });
    expect(did).toEqual(['configure r4 of 4', 'note 4 without ', 'add r4', 'start r4']);
    expect(ids()).toEqual(['r1', 'r2', 'r3', 'r4']);
    await changes.close();
  });

  it('go: from the members first, then stopped; the next one that comes has the free number', async () => {
    const { did, changes, ids } = group();
    expect(await changes.change({ action: 'remove', replica: 'r2' })).toMatchObject({
      ok: true,
      replica: 'r2',
    });
    expect(did).toEqual(['remove r2', 'stop r2', 'note 3 without r2']);
    expect(changes.status()).toMatchObject({ state: 'done', text: expect.stringContaining('data deleted') });
    expect(await changes.change({ action: 'add' })).toMatchObject({ ok: true, replica: 'r2' });
    expect(did.slice(-3)).toEqual(['note 3 without ', 'add r2', 'start r2']);
    expect(ids()).toEqual(['r1', 'r3', 'r2']);
    await changes.close();
  });

  it('are as they were where the leader refuses, with its reason', async () => {
    const answer = error('wouldLoseQuorum', 'too few would be left');
    const { did, changes, ids } = group({ answer });
    const refused = { ok: false, code: 'wouldLoseQuorum', message: 'too few would be left' };
    expect(await changes.change({ action: 'remove', replica: 'r1' })).toEqual(refused);
    expect(await changes.change({ action: 'add' })).toEqual(refused);
    expect(did.filter((each) => /^(start|stop)/.test(each))).toEqual([]);
    expect(did.at(-1)).toBe('note 3 without ');
    expect(ids()).toEqual(['r1', 'r2', 'r3']);
    expect(changes.status()).toMatchObject({ state: 'failed', text: 'too few would be left' });
  });

  it('neither come nor go where members are fixed, a checker watches, nobody leads, or a port is taken; and one at a time', async () => {
    const code = async (given: Given): Promise<unknown> => group(given).changes.change({ action: 'add' });
    expect(await code({ protocol: 'paxos' })).toMatchObject({ code: 'fixedMembers' });
    expect(await code({ check: true })).toMatchObject({ code: 'unavailable' });
    expect(await code({ isLed: false })).toMatchObject({ code: 'unavailable' });
    expect(await code({ free: false })).toMatchObject({ code: 'portInUse' });
    const { changes } = group();
    expect(await changes.change({ action: 'remove', replica: 'r7' })).toMatchObject({
      code: 'unknownReplica',
    });
    const first = changes.change({ action: 'add' });
    expect(await changes.change({ action: 'add' })).toMatchObject({ code: 'busy' });
    expect(await first).toMatchObject({ ok: true });
    await changes.close();
  });
});

describe('where nobody knows whether a change was made', () => {
  it('the members tell: one that was let in is started', async () => {
    const { did, changes, ids } = group({ answer: 'lost' });
    expect(await changes.change({ action: 'add' })).toMatchObject({ ok: true, replica: 'r4' });
    expect(did).toEqual(['configure r4 of 4', 'note 4 without ', 'add r4', 'start r4']);
    expect(ids()).toContain('r4');
    await changes.close();
  });

  it('one that may yet be let in is started and stays written down', async () => {
    const { did, changes, ids } = group({ answer: timedOut });
    const outcome = await changes.change({ action: 'add' });
    expect(outcome).toMatchObject({
      ok: false,
      code: 'timedOut',
      message: expect.stringMatching(/remove it/),
    });
    expect(did).toEqual(['configure r4 of 4', 'note 4 without ', 'add r4', 'start r4']);
    expect(ids()).toContain('r4');
  });

  it('one that was removed goes, and one that may not have been stays as it is', async () => {
    const lost = group({ answer: 'lost' });
    expect(await lost.changes.change({ action: 'remove', replica: 'r2' })).toMatchObject({ ok: true });
    expect(lost.did).toEqual(['remove r2', 'stop r2', 'note 3 without r2']);
    const kept = group({ answer: timedOut });
    expect(await kept.changes.change({ action: 'remove', replica: 'r2' })).toMatchObject({
      ok: false,
      code: 'timedOut',
    });
    expect(kept.did).toEqual(['remove r2']);
    expect(kept.ids()).toContain('r2');
  });

  it('a member without a process is started by the next addition, or removed', async () => {
    const left = group();
    left.set([...[1, 2, 3].map((n) => left.memberOf(n, 'voter')), left.memberOf(4, 'learner')]);
    expect(await left.changes.change({ action: 'add' })).toMatchObject({ ok: true, replica: 'r4' });
    expect(left.did.at(-1)).toBe('start r4');
    await left.changes.close();
    const removed = group();
    removed.set([...[1, 2, 3].map((n) => removed.memberOf(n, 'voter')), removed.memberOf(4, 'learner')]);
    expect(await removed.changes.change({ action: 'remove', replica: 'r4' })).toMatchObject({ ok: true });
    expect(removed.did).toEqual(['remove r4']);
    expect(removed.members()).not.toContain('r4');
  });

  it('a name that a member elsewhere has is left to it', async () => {
    const { changes, set, memberOf: member } = group();
    const elsewhere = { ...member(4, 'voter'), address: { ...member(4, 'voter').address, host: '10.0.0.4' } };
    set([member(1, 'voter'), member(2, 'voter'), member(3, 'voter'), elsewhere]);
    expect(await changes.change({ action: 'add' })).toMatchObject({ ok: true, replica: 'r5' });
    await changes.close();
  });
});

describe('a replacement', () => {
  const voters = (made: ReturnType<typeof group>, ...numbers: readonly number[]): readonly Member[] =>
    numbers.map((number) => made.memberOf(number, 'voter'));

  it('removes the old one when the new one votes, and tells how far it is', async () => {
    const made = group();
    const { changes, did } = made;
    expect(await changes.change({ action: 'replace', replica: 'r1' })).toMatchObject({
      ok: true,
      replica: 'r4',
    });
    expect(changes.status()).toEqual({
      state: 'joining',
      text: 'r4 was started, and is expected; when it votes, r1 goes.',
      added: 'r4',
      replaced: 'r1',
    });
    expect(await changes.change({ action: 'remove', replica: 'r2' })).toMatchObject({ code: 'busy' });
    expect(did).not.toContain('remove r1');
    made.set(voters(made, 1, 2, 3, 4));
    await expect.poll(() => changes.status()).toMatchObject({ state: 'done' });
    expect(did.slice(-4)).toEqual(['start r4', 'remove r1', 'stop r1', 'note 4 without r1']);
    expect(made.ids()).toEqual(['r2', 'r3', 'r4']);
  });

  it('is not deceived by what an older configuration says of a replica with that name', async () => {
    const made = group();
    await made.changes.change({ action: 'replace', replica: 'r1' });
    made.set(voters(made, 1, 2, 3, 4), 2);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(made.changes.status().state).toBe('joining');
    expect(made.ids()).toContain('r1');
    await made.changes.close();
  });

  it('is given up by removing the new one, or by time; the old one stays', async () => {
    const given = group();
    await given.changes.change({ action: 'replace', replica: 'r1' });
    expect(await given.changes.change({ action: 'remove', replica: 'r4' })).toMatchObject({ ok: true });
    expect(given.ids()).toEqual(['r1', 'r2', 'r3']);
    const late = group();
    await late.changes.change({ action: 'replace', replica: 'r1' });
    await expect.poll(() => late.changes.status().state).toBe('failed');
    expect(late.changes.status().text).toContain('r1 was not removed');
    expect(late.ids()).toEqual(['r1', 'r2', 'r3', 'r4']);
  });

  it('begins with a replica that is here, and a member', async () => {
    const made = group();
    const replace = (replica: string): Promise<unknown> =>
      made.changes.change({ action: 'replace', replica });
    expect(await replace('r9')).toMatchObject({ code: 'unknownReplica' });
    made.set(voters(made, 2, 3));
    expect(await replace('r1')).toMatchObject({ code: 'unknownReplica' });
    expect(made.did).toEqual([]);
  });
});

describe('a replacement that was under way when the demo ended', () => {
  const join: Join = { added: 'r4' as ReplicaId, replaced: 'r1' as ReplicaId, sinceVersion: 3 };
  const left = { before: join, here: [1, 2, 3, 4] };

  it('was written down before the leader was asked, and is kept when the demo ends', async () => {
    const made = group();
    expect(await made.changes.change({ action: 'replace', replica: 'r1' })).toMatchObject({ ok: true });
    await made.changes.close();
    expect(made.kept()).toEqual(join);
    expect(made.ids()).toContain('r1');
  });

  it('goes on, and is shown as under way, until the new one votes and the old one is gone', async () => {
    const made = group({ ...left, learners: [4] });
    expect(made.changes.status()).toMatchObject({ state: 'joining', added: 'r4', replaced: 'r1' });
    expect(await made.changes.change({ action: 'remove', replica: 'r2' })).toMatchObject({ code: 'busy' });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(made.did).toEqual([]);
    made.set([1, 2, 3, 4].map((number) => made.memberOf(number, 'voter')));
    await expect.poll(made.kept).toBe(null);
    expect(made.did).toEqual(['remove r1', 'stop r1', 'note 3 without r1']);
    expect(made.changes.status()).toMatchObject({ state: 'done' });
  });

  it('is kept where the demo ends while the old one is being removed', async () => {
    let letAnswer = (): void => undefined;
    const until = new Promise<void>((resolve) => {
      letAnswer = resolve;
    });
    const stopping = error('stopping', 'the replica stops');
    const made = group({ ...left, voters: [1, 2, 3, 4], answer: stopping, until });
    await expect.poll(() => made.did).toEqual(['remove r1']);
    await made.changes.close();
    letAnswer();
    await expect.poll(() => made.changes.status().state).toBe('failed');
    expect(made.kept()).toEqual(join);
  });

  it('is kept where the leader refuses to remove the old one, until something else is asked for', async () => {
    const refusal = error('wouldLoseQuorum', 'too few were heard');
    const made = group({ ...left, voters: [1, 2, 3, 4], answer: refusal });
    await expect.poll(() => made.changes.status().state).toBe('failed');
    expect(made.kept()).toEqual(join);
    expect(await made.changes.change({ action: 'remove', replica: 'r2' })).toMatchObject({ ok: false });
    expect(made.kept()).toBe(null);
  });

  it('is ended where the old one was being removed, or was gone already', async () => {
    const half = group({ ...left, voters: [2, 3, 4] });
    await expect.poll(half.kept).toBe(null);
    expect(half.did).toEqual(['remove r1', 'stop r1', 'note 3 without r1']);
    const whole = group({ ...left, here: [2, 3, 4], voters: [2, 3, 4] });
    await expect.poll(whole.kept).toBe(null);
    expect(whole.changes.status()).toMatchObject({ state: 'done', text: 'r4 votes, and r1 is gone.' });
  });

  it('removes nobody while nobody leads who could be asked', async () => {
    const made = group({ ...left, isLed: false, voters: [1, 2, 3, 4] });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(made.changes.status().state).toBe('joining');
    expect(made.did).toEqual([]);
    await made.changes.close();
    expect(made.kept()).toEqual(join);
  });

  it('is given up if the new one is no member any more, and the old one stays', async () => {
    const gone = group(left);
    await expect.poll(gone.kept).toBe(null);
    expect(gone.changes.status()).toMatchObject({
      state: 'failed',
      text: expect.stringMatching(/r4 is no member.*r1 was not removed/),
    });
    const removed = group({ before: join });
    await expect.poll(removed.kept).toBe(null);
    expect(removed.changes.status().state).toBe('failed');
    for (const { did, ids } of [gone, removed]) {
      expect(did).toEqual([]);
      expect(ids()).toContain('r1');
    }
    const asked = group({ ...left, learners: [4] });
    expect(await asked.changes.change({ action: 'remove', replica: 'r4' })).toMatchObject({ ok: true });
    expect(asked.kept()).toBe(null);
    expect(asked.ids()).toEqual(['r1', 'r2', 'r3']);
  });

  it('is given up in the running demo, too, when the new one is removed behind its back', async () => {
    const made = group();
    await made.changes.change({ action: 'replace', replica: 'r1' });
    made.set([1, 2, 3].map((number) => made.memberOf(number, 'voter')));
    await expect.poll(() => made.changes.status().state, { interval: 5 }).toBe('failed');
    expect(made.changes.status().text).toContain('r4 is no member');
    expect(made.kept()).toBe(null);
  });

  it('waits for a demo without the checker, which says so', async () => {
    const made = group({ ...left, check: true });
    expect(made.changes.status()).toMatchObject({
      state: 'failed',
      text: expect.stringContaining('--check'),
    });
    expect(made.kept()).toEqual(join);
  });

  it('is not written down where the leader refuses the new one', async () => {
    const made = group({ answer: error('wouldLoseQuorum', 'too few') });
    expect(await made.changes.change({ action: 'replace', replica: 'r1' })).toMatchObject({ ok: false });
    expect(made.kept()).toBe(null);
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
