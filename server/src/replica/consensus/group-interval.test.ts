import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { abnormalMs, GroupInterval, toldEveryMs } from './group-interval.ts';

function setUp() {
  let nowMs = 1000;
  let leader: string | null = 'r1';
  const intervals = new Map<string, GroupInterval>();
  const sent: string[] = [];
  for (const self of ['r1', 'r2'])
    intervals.set(
      self,
      new GroupInterval({
        self: self as ReplicaId,
        leader: () => leader as ReplicaId | null,
        send: (to, bytes) => {
          sent.push(`${self} to ${to}`);
          intervals.get(to)?.take(bytes);
        },
        nowMs: () => nowMs,
        firstMs: 8,
      }),
    );
  return {
    leads: intervals.get('r1')!,
    follows: intervals.get('r2')!,
    sent,
    pass: (ms: number): void => {
      nowMs += ms;
    },
    lead: (id: string | null): void => {
      leader = id;
    },
  };
}

describe('the interval of groups', () => {
  it('goes half the way to each time that a group took, here or at a follower', () => {
    const { leads, follows, sent } = setUp();
    expect(leads.ms).toBe(8);
    leads.persisted(2);
    expect(leads.ms).toBe(5);
    follows.persisted(1.5);
    expect(leads.ms).toBe(3.25);
    expect(sent).toEqual(['r2 to r1']);
    expect(follows.ms).toBe(8);
  });

  it('comes to what replicas take', () => {
    const { leads, follows, pass } = setUp();
    for (let n = 0; n < 40; n += 1) {
      leads.persisted(2);
      follows.persisted(3);
      pass(toldEveryMs);
    }
    expect(leads.ms).toBeGreaterThan(2);
    expect(leads.ms).toBeLessThan(3);
  });

  it('does not consider what is abnormal', () => {
    const { leads, follows } = setUp();
    leads.persisted(abnormalMs + 1);
    follows.persisted(60_000);
    expect(leads.ms).toBe(8);
  });

  it('is told now and then, and to nobody where nobody leads', () => {
    const { follows, sent, pass, lead } = setUp();
    follows.persisted(1);
    follows.persisted(1);
    expect(sent).toHaveLength(1);
    pass(toldEveryMs);
    lead(null);
    follows.persisted(1);
    expect(sent).toHaveLength(1);
    lead('r1');
    follows.persisted(1);
    expect(sent).toHaveLength(2);
  });

  it('takes no word for it from whoever says something else, and none where it does not lead', () => {
    const { leads, follows } = setUp();
    leads.take(Buffer.from('0102', 'hex'));
    follows.take(Buffer.alloc(8));
    expect([leads.ms, follows.ms]).toEqual([8, 8]);
  });
});
