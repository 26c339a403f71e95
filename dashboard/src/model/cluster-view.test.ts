import { describe, expect, test } from 'vitest';
import { noPaxosCounts, type LinkFault, type ReplicaStatus } from '../../../server/src/api/status.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import {
  compareBallots,
  describeFault,
  faultsByLink,
  findLeader,
  formatBallot,
  healthOf,
  isIsolated,
  messageOf,
  roleOf,
  spellFault,
} from './cluster-view.ts';
import { ballot, clusterOf, replica } from './testing.ts';

function fault(from: string, to: string, changes: Partial<LinkFault> = {}): LinkFault {
  return {
    from: from as ReplicaId,
    to: to as ReplicaId,
    cut: false,
    delayMs: 0,
    drop: 0,
    duplicate: 0,
    ...changes,
  };
}

const leads = { role: 'leader' } as const;

describe('who leads', () => {
  test('is the leader with the highest ballot, not one that has not heard of its successor', () => {
    const cluster = clusterOf(
      replica('r1', { ...leads, ballot: ballot(3, 'r1') }),
      replica('r2', { ...leads, ballot: ballot(4, 'r2') }),
      replica('r3'),
    );
    expect(findLeader(cluster)?.id).toBe('r2');
  });

  test('is nobody while the leader is crashed, paused, silent or not serving yet', () => {
    expect(findLeader(clusterOf(replica('r1', leads, { process: 'stopped' })))).toBeNull();
    expect(findLeader(clusterOf(replica('r1', leads, { process: 'paused' })))).toBeNull();
    expect(findLeader(clusterOf(replica('r1', leads, { ageMs: 5000 })))).toBeNull();
    expect(findLeader(clusterOf(replica('r1', { ...leads, state: 'recovering' })))).toBeNull();
    expect(findLeader(null)).toBeNull();
    expect(findLeader(clusterOf(replica('r1', leads)))?.id).toBe('r1');
  });

  test('ballots compare by round, then by replica', () => {
    expect(compareBallots(ballot(2, 'r1'), ballot(1, 'r9'))).toBeGreaterThan(0);
    expect(compareBallots(ballot(2, 'r1'), ballot(2, 'r2'))).toBeLessThan(0);
    expect(compareBallots(ballot(2, 'r1'), ballot(2, 'r1'))).toBe(0);
    expect(formatBallot(ballot(2, 'r1'))).toBe('2·r1');
    expect(formatBallot(ballot(0, ''))).toBe('–');
  });
});

describe('the role on show', () => {
  test('is not the last word of a replica that is frozen, silent or gone', () => {
    expect(roleOf(replica('r1', leads, { process: 'paused' }), null)).toBe('paused');
    expect(roleOf(replica('r1', leads, { ageMs: 5000 }), null)).toBe('unknown');
    expect(roleOf(replica('r1', leads, { process: 'stopped' }), 'r2')).toBe('down');
    expect(roleOf({ ...replica('r1'), status: null, ageMs: null }, 'r2')).toBe('unknown');
    expect(roleOf(replica('r1', leads), 'r1')).toBe('leader');
    expect(roleOf(replica('r2'), 'r1')).toBe('follower');
  });

  test('of a leader that has not heard of its successor is deposed; of one that does not serve yet it is leader', () => {
    expect(roleOf(replica('r1', leads), 'r2')).toBe('deposed');
    expect(roleOf(replica('r1', { ...leads, state: 'recovering' }), null)).toBe('leader');
  });
});

describe('a replica of another protocol', () => {
  const paxos = { protocol: { name: 'paxos', counts: noPaxosCounts }, leader: null } as const;
  const primaryOf = (role: 'recovering' | 'standby' | 'primary') =>
    ({
      protocol: {
        name: 'primary',
        role,
        replication: 'semi',
        needsCopy: false,
        counts: { acknowledged: 0, unacknowledged: 0 },
      },
      role: role === 'primary' ? 'leader' : 'follower',
    }) as const;

  test('is no follower of nobody', () => {
    expect(roleOf(replica('r1', paxos), null)).toBe('proposer');
    expect(roleOf(replica('r1', paxos, { process: 'paused' }), null)).toBe('paused');
    expect(healthOf(replica('r1', { ...paxos, state: 'noLeader' }), null).text).toBe(
      'Up, but reaches no majority',
    );
  });

  test('is primary, copy or recovering', () => {
    expect(roleOf(replica('r1', primaryOf('primary')), 'r1')).toBe('primary');
    expect(roleOf(replica('r1', primaryOf('primary')), 'r2')).toBe('deposed');
    expect(roleOf(replica('r2', primaryOf('standby')), 'r1')).toBe('copy');
    expect(roleOf(replica('r2', primaryOf('recovering')), 'r1')).toBe('recovering');
    expect(healthOf(replica('r2', primaryOf('standby')), 'r3').text).toBe(
      'Waits for r1, which is not primary now',
    );
    expect(healthOf(replica('r1', primaryOf('primary')), 'r2').text).toBe('Has not heard that r2 is primary');
  });
});

describe('what a replica says of itself', () => {
  const found =
    'If the group was never founded, run "barista init" with the configuration of one replica, and start it.';
  const joining = {
    state: 'joining',
    incarnation: 0,
    membership: { version: 0, members: [] },
    message: `This replica has no log, and waits to be let in: none of r1, r2 has answered yet. ${found}`,
  } as const;

  test('does not advise to found a group that is founded', () => {
    const r3 = replica('r3', joining);
    expect(messageOf(r3, clusterOf(replica('r1'), replica('r2'), r3))).toBe(
      'This replica has no log, and waits to be let in: none of r1, r2 has answered yet.',
    );
    expect(messageOf(r3, clusterOf(r3))).toBe(joining.message);
    expect(messageOf(replica('r3', { ...joining, message: found }), clusterOf(replica('r1')))).toBeNull();
  });

  test('is nothing where there is nothing fresh, or where the steps of a copy say it', () => {
    const told = { message: 'PostgreSQL is down' };
    const cluster = clusterOf(replica('r1'));
    expect(messageOf(replica('r1', told), cluster)).toBe('PostgreSQL is down');
    expect(messageOf(replica('r1', told, { process: 'paused' }), cluster)).toBeNull();
    const recovery = { phase: 'copying' } as NonNullable<ReplicaStatus['recovery']>;
    expect(messageOf(replica('r1', { ...told, recovery }), cluster)).toBeNull();
  });
});

describe('links', () => {
  test('are broken in one direction only if only that one has a fault', () => {
    const cluster = clusterOf(
      replica('r1', { faults: [fault('r1', 'r2', { cut: true }), fault('r1', 'r3')] }),
      replica('r2'),
    );
    expect([...faultsByLink(cluster).keys()]).toEqual(['r1>r2']);
  });

  test('of a crashed replica are not reported as broken', () => {
    const cluster = clusterOf(
      replica('r1', { faults: [fault('r1', 'r2', { cut: true })] }, { process: 'stopped' }),
    );
    expect(faultsByLink(cluster).size).toBe(0);
  });

  test('say briefly and in words what is wrong with them', () => {
    const bad = fault('r1', 'r2', { delayMs: 200, drop: 0.3, duplicate: 0.1 });
    expect(describeFault(bad)).toBe('+200 ms −30% ×2 10%');
    expect(spellFault(bad)).toBe('delayed by 200 ms, 30% dropped, 10% duplicated');
    expect(describeFault(fault('r1', 'r2', { cut: true, delayMs: 5 }))).toBe('cut');
    expect(describeFault(fault('r1', 'r2', { delayMs: 1500 }))).toBe('+1.5 s');
  });

  test('isolate a replica only when all of them are cut, both ways', () => {
    const cut = { cut: true };
    const r1 = replica('r1', { faults: [fault('r1', 'r2', cut), fault('r1', 'r3', cut)] });
    const r2 = replica('r2', { faults: [fault('r2', 'r1', cut)] });
    const r3 = replica('r3', { faults: [fault('r3', 'r1', cut)] });
    expect(isIsolated(clusterOf(r1, r2, r3), 'r1')).toBe(true);
    expect(isIsolated(clusterOf(r1, r2, r3), 'r2')).toBe(false);
    expect(isIsolated(clusterOf(r1, r2, replica('r3')), 'r1')).toBe(false);
  });
});

describe('health', () => {
  test('of a process that does not run outweighs its last report', () => {
    expect(healthOf(replica('r1', {}, { process: 'stopped' }), 'r1').tone).toBe('off');
    expect(healthOf(replica('r1', {}, { process: 'paused' }), 'r1').tone).toBe('warn');
    expect(healthOf(replica('r1', {}, { ageMs: 9000 }), 'r1').tone).toBe('bad');
  });

  test('of a follower says through whom it serves', () => {
    expect(healthOf(replica('r2', { leader: 'r1' as ReplicaId }), 'r1').text).toBe(
      'Serving clients through r1',
    );
    expect(healthOf(replica('r1', leads), 'r1').text).toBe('Serving clients');
    expect(healthOf(replica('r1', { state: 'databaseDown' }), 'r1').tone).toBe('bad');
  });

  test('of one that holds to a leader that is gone, or has not heard of the next one, is no serving', () => {
    const r2 = replica('r2', { leader: 'r1' as ReplicaId });
    expect(healthOf(r2, null)).toEqual({ tone: 'warn', text: 'Waits for r1, which does not lead now' });
    expect(healthOf(r2, 'r3').tone).toBe('warn');
    expect(healthOf(replica('r1', leads), 'r3').text).toBe('Has not heard that r3 leads');
  });
});
