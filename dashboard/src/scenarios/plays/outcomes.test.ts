/** The answer that a scenario marks as right, and the moment at which it goes on, are those of the run: told here of runs that differ in one thing. */
import { describe, expect, it } from 'vitest';
import type { ClusterReplica, ReplicaStatus } from '../../../../server/src/api/status.ts';
import type { TraceEvent } from '../../../../server/src/api/events.ts';
import { initialState, reduceDashboard } from '../../model/dashboard-state.ts';
import { ballot, clusterOf, other, replica } from '../../model/testing.ts';
import type { Told } from '../scenario.ts';
import { beginSeeing, type Seen, seeOn } from '../seen.ts';
import { leaderDies } from './leader-dies.ts';
import { unchosenWal } from './unchosen-wal.ts';
import { wipedMajority } from './wiped-majority.ts';

type Look = readonly [replicas: readonly ClusterReplica[], ...events: readonly TraceEvent[]];

const leads = (id: string, round: number) =>
  replica(id, { role: 'leader', leader: id as ReplicaStatus['id'], ballot: ballot(round, id) });
const follows = (id: string, round: number, changes: object = {}) =>
  replica(id, { leader: 'r2' as ReplicaStatus['id'], ballot: ballot(round, 'r2'), ...changes });
const start: Look = [[leads('r1', 1), replica('r2'), replica('r3')]];
const after: Look = [[follows('r1', 2), leads('r2', 2), replica('r3')]];

/** Looks 1 s apart: the first is the start, and each other one ends a chapter. */
function told(...looks: readonly Look[]): Told {
  let state = initialState;
  let seen: Seen | null = null;
  const all = looks.map(([replicas, ...events], index) => {
    const atMs = (index + 1) * 1_000;
    const frames = [
      { type: 'cluster', cluster: clusterOf(...replicas) },
      { type: 'events', events },
    ] as const;
    state = reduceDashboard(state, { kind: 'frames', frames, atMs });
    seen = seen === null ? beginSeeing(state, atMs)! : seeOn(seen, state, atMs);
    return seen;
  });
  return { start: all[0]!, begins: all, ends: all.slice(1), now: all.at(-1)! };
}

describe('who leads after a majority was wiped', () => {
  const choiceWith = (id: string) => {
    const last: Look = [start[0].map((one) => (one.id === id ? leads(id, 3) : replica(one.id)))];
    return wipedMajority.answer(told(start, start, start, last)).choice;
  };

  it('is one that has kept its disk, or one of the empty ones', () => {
    expect(choiceWith('r2')).toBe('kept-leads');
    expect(['r1', 'r3'].map(choiceWith)).toEqual(['empty-lead', 'empty-lead']);
  });
});

describe('a leader that died', () => {
  const isBack = (back: ClusterReplica) => {
    const now = told(start, after, after, [[back, leads('r2', 2), replica('r3')]]);
    return leaderDies.chapters[2]!.hasComeAbout({ ...now, ends: now.ends.slice(0, 2) });
  };

  it('has a place again when it is in the ballot of its successor, and not yet in its own old one', () => {
    expect(isBack(replica('r1', { ballot: ballot(1, 'r1') }))).toBe(false);
    expect(isBack(follows('r1', 2))).toBe(true);
    expect(isBack(follows('r1', 2, { state: 'recovering' }))).toBe(false);
  });
});

describe('WAL that is not chosen', () => {
  const unchosen = (bytes: number): Look['0'] => [
    follows('r1', 2, { wal: { timeline: 2, unchosenBytes: bytes } }),
    leads('r2', 2),
    replica('r3'),
  ];
  const compared = (seq: number, outcome: string) =>
    other({ seq }, { layer: 'apply', name: 'CheckPrefix', outcome });
  const copied = other({ seq: 9 }, { layer: 'apply', name: 'EndCopy', source: 'r2', slot: 9 });
  const run = (bytes: number, ...events: readonly TraceEvent[]) =>
    told(start, start, after, after, [unchosen(bytes), ...events], [unchosen(bytes)]);

  it('is gone once a copy was made, whatever the last status said of it', () => {
    expect(unchosenWal.answer(run(90, compared(1, 'parted'), copied)).choice).toBe('rewound');
    expect(unchosenWal.answer(run(90, compared(1, 'parted'))).choice).toBe('kept');
  });

  it('was not judged by a comparison that could not decide', () => {
    const hasCome = (...events: readonly TraceEvent[]) =>
      unchosenWal.chapters[3]!.hasComeAbout(run(90, ...events));
    expect(hasCome(compared(1, 'undecided'))).toBe(false);
    expect(hasCome(compared(1, 'undecided'), compared(2, 'parted'))).toBe(true);
    expect(unchosenWal.answer(run(90, compared(1, 'parted'), compared(2, 'undecided'))).choice).toBe('kept');
  });
});
