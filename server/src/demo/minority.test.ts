import { describe, expect, it } from 'vitest';
import type { ReplicaStatus } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { beyondMinority, type Standing } from './minority.ts';

type Known = Pick<ReplicaStatus, 'membership' | 'protocol'>;

function group(count: number, away: Readonly<Record<string, Partial<Standing>>> = {}): readonly Standing[] {
  return Array.from({ length: count }, (_, index) => {
    const id = `r${index + 1}` as ReplicaId;
    return { id, process: 'running', wiped: null, status: null, ...away[id] };
  });
}

const replica = 'r2' as ReplicaId;
const crash = { action: 'crash', replica } as const;
const pause = { action: 'pause', replica } as const;
const wipe = { action: 'wipe', replica, what: 'both' } as const;
const down = { process: 'stopped' } as const;
const wiped = { wiped: 'both' } as const;

describe('a fault beyond a minority', () => {
  it.each([crash, pause, wipe])('is none while a majority is left: $action', (harm) => {
    expect(beyondMinority(harm, group(3))).toBeNull();
    expect(beyondMinority(harm, group(5, { r1: down }))).toBeNull();
  });

  it('says how the others are away, and what brings the group back', () => {
    expect(beyondMinority(wipe, group(3, { r1: down }))).toBe(
      'r1 is down already: with r2 wiped, no majority of logs is left; the group is gone until r1 is back.',
    );
    expect(beyondMinority(crash, group(3, { r1: { process: 'paused' } }))).toBe(
      'r1 is frozen already: with r2 down, no majority is left; nobody is served until r1 or r2 is back.',
    );
    expect(beyondMinority(pause, group(3, { r1: wiped }))).toBe(
      'r1 was wiped and has not recovered: with r2 frozen, no majority is left; nobody is served until r1 or r2 is back.',
    );
    expect(beyondMinority(crash, group(5, { r1: down, r3: down, r4: down }))).toBe(
      'r1 is down already, r3 is down already, r4 is down already: with r2 down, no majority is left; nobody is served until 2 of r1, r3, r4, r2 are back.',
    );
  });

  it('tells a wipe for good from one that others can make up for', () => {
    expect(beyondMinority(wipe, group(3, { r1: wiped }))).toMatch(
      /no majority of logs is left; it cannot come back by itself, and what was acknowledged may be lost\.$/,
    );
    expect(beyondMinority(wipe, group(3, { r1: { wiped: 'database' } }))).toMatch(/gone until r1 is back\.$/);
    expect(beyondMinority({ ...wipe, what: 'database' }, group(3, { r1: down }))).toBe(
      'r1 is down already: with the PostgreSQL of r2 wiped, no majority has both a log and a database; a further loss may lose data.',
    );
    // A log that is down counts, and its loss is one.
    expect(beyondMinority(wipe, group(3, { r1: down, r2: down }))).toContain('r2 wiped');
  });

  it('is any at all where all voters are needed', () => {
    expect(beyondMinority(crash, group(2))).toBe(
      '2 of 2 voters are needed: with r2 down, no majority is left; nobody is served until r2 is back.',
    );
  });

  it('is none that changes nothing', () => {
    expect(beyondMinority(crash, group(3, { r1: down, r2: { process: 'paused' } }))).toBeNull();
    expect(beyondMinority(wipe, group(3, { r1: down, r2: wiped }))).toBeNull();
  });

  it('is counted among voters, as the newest member list has them', () => {
    const status = (known: Known) => known as ReplicaStatus;
    const members = ['r1', 'r2', 'r3', 'r4'].map((id) => ({
      replica: id as ReplicaId,
      role: id === 'r4' ? ('learner' as const) : ('voter' as const),
    }));
    const known = (version: number): Known => ({
      membership: { version, members: (version === 2 ? members : members.slice(0, 1)) as never },
      protocol: { name: 'multi-paxos' },
    });
    const away = { r1: { ...down, status: status(known(1)) }, r3: { status: status(known(2)) } };
    expect(beyondMinority(crash, group(4, away))).toMatch(/^r1 is down already: with r2 down/);
    expect(beyondMinority({ ...crash, replica: 'r4' as ReplicaId }, group(4, away))).toBeNull();
  });

  it('is none where a primary decides alone', () => {
    const status = { membership: { version: 0, members: [] }, protocol: { name: 'primary' } };
    expect(
      beyondMinority(crash, group(3, { r1: { ...down, status: status as unknown as ReplicaStatus } })),
    ).toBeNull();
  });
});
