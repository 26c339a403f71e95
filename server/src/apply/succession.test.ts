import { describe, expect, it } from 'vitest';
import type { Ballot, Entry, GroupId, ReplicaId } from '../multipaxos/types.ts';
import { encodePayload } from './payload.ts';
import { createSuccession, effectOf } from './succession.ts';

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

describe('a succession of leaders', () => {
  it('lets a transaction take effect while no newer leader has begun below it', () => {
    const succession = createSuccession();
    effectOf(succession, start(1));
    expect(effectOf(succession, executedBy(1))).not.toBeNull();
    expect(effectOf(succession, { kind: 'noop', group })).toBeNull();
    expect(effectOf(succession, executedBy(1))).not.toBeNull();
  });

  it('gives no effect to what an older leader executed without knowing of the newer one', () => {
    const succession = createSuccession(ballot(1));
    effectOf(succession, start(2));
    expect(effectOf(succession, executedBy(2))).not.toBeNull();
    expect(effectOf(succession, executedBy(1))).toBeNull();
  });

  it('never goes back to an older leader, whose beginning may be chosen late, too', () => {
    const succession = createSuccession();
    effectOf(succession, start(2));
    effectOf(succession, start(1));
    expect(effectOf(succession, executedBy(1))).toBeNull();
  });
});
