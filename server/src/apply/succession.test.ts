import { describe, expect, it } from 'vitest';
import type { Ballot, Entry, GroupId, ReplicaId } from '../multipaxos/types.ts';
import { encodePayload } from './payload.ts';
import { createSuccession, meaningOf } from './succession.ts';

const group = 'g' as GroupId;
const ballot = (round: number): Ballot => ({ round, replica: `r${round}` as ReplicaId });
const start = (round: number): Entry => ({ kind: 'leaderStart', group, ballot: ballot(round) });
const executedBy = (round: number): Entry => ({
  kind: 'command',
  group,
  proposal: { client: 'c', request: round },
  payload: encodePayload({
    transaction: 't',
    part: 0,
    last: true,
    partSlots: [],
    leadership: ballot(round),
    effects: [],
    sql: [],
  }),
});

const kindOf = (...asked: Parameters<typeof meaningOf>): string => meaningOf(...asked).kind;

describe('a succession of leaders', () => {
  it('lets a transaction take effect while no newer leader has begun below it', () => {
    const succession = createSuccession();
    meaningOf(succession, start(1));
    expect(kindOf(succession, executedBy(1))).toBe('transaction');
    expect(kindOf(succession, { kind: 'noop', group })).toBe('nothing');
    expect(kindOf(succession, executedBy(1))).toBe('transaction');
  });

  it('gives no effect to what an older leader executed without knowing of the newer one', () => {
    const succession = createSuccession(ballot(1));
    meaningOf(succession, start(2));
    expect(kindOf(succession, executedBy(2))).toBe('transaction');
    expect(kindOf(succession, executedBy(1))).toBe('superseded');
  });

  it('never goes back to an older leader, whose beginning may be chosen late, too', () => {
    const succession = createSuccession();
    meaningOf(succession, start(2));
    meaningOf(succession, start(1));
    expect(kindOf(succession, executedBy(1))).toBe('superseded');
  });
});
