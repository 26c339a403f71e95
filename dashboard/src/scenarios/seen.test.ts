/** Rivals are those that another one leads above, and events are those of after the moment that is asked for. */
import { describe, expect, test } from 'vitest';
import type { ClusterReplica } from '../../../server/src/api/status.ts';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { initialState, reduceDashboard } from '../model/dashboard-state.ts';
import { ballot, clusterOf, consensus, replica } from '../model/testing.ts';
import { beginSeeing, eventsIn, type Seen, seeOn } from './seen.ts';

const leads = (id: string, round: number) =>
  replica(id, { role: 'leader', leader: id as never, ballot: ballot(round, id) });

/** What is seen in the last of those looks, 1 s apart, the first at 1 s. */
function seenIn(
  ...looks: readonly (readonly [readonly ClusterReplica[], ...(readonly TraceEvent[])])[]
): Seen {
  let state = initialState;
  let seen: Seen | null = null;
  for (const [index, [replicas, ...events]] of looks.entries()) {
    const atMs = (index + 1) * 1_000;
    const frames = [
      { type: 'cluster', cluster: clusterOf(...replicas) },
      { type: 'events', events },
    ] as const;
    state = reduceDashboard(state, { kind: 'frames', frames, atMs });
    seen = seen === null ? beginSeeing(state, atMs)! : seeOn(seen, state, atMs);
  }
  return seen!;
}

const one = [leads('r1', 1), replica('r2'), replica('r3')];
const two = [leads('r1', 1), leads('r2', 2), replica('r3')];

describe('what is seen', () => {
  test('has as a rival who serves below another leader, and never the leader itself', () => {
    expect(seenIn([one], [one]).rivals).toEqual([]);
    expect(seenIn([one], [two]).rivals).toEqual([{ id: 'r1', ballot: ballot(1, 'r1'), atMs: 2_000 }]);
  });

  test('has the events of after a moment, and not those of at it or before', () => {
    const stood = (seq: number, id: string) => consensus({ seq, replica: id }, { name: 'StartElection' });
    const seen = seenIn([one], [one, stood(1, 'r2')], [one, stood(1, 'r3')]);
    const replicasOf = (afterMs?: number) =>
      eventsIn(seen, 'StartElection', afterMs === undefined ? {} : { afterMs }).map((event) => event.replica);
    expect([replicasOf(), replicasOf(1_999), replicasOf(2_000), replicasOf(3_000)]).toEqual([
      ['r2', 'r3'],
      ['r2', 'r3'],
      ['r3'],
      [],
    ]);
  });
});
