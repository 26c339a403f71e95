/** Captions and answers say what was seen: each is told here of a run that went another way than it does as a rule. */
import { describe, expect, it } from 'vitest';
import type { LoadStatus } from '../../../../server/src/api/load.ts';
import type { ClusterReplica } from '../../../../server/src/api/status.ts';
import type { TraceEvent } from '../../../../server/src/api/events.ts';
import { initialState, reduceDashboard } from '../../model/dashboard-state.ts';
import { ballot, clusterOf, consensus, membershipOf, other, replica } from '../../model/testing.ts';
import type { Told } from '../scenario.ts';
import { beginSeeing, type Seen, seeOn } from '../seen.ts';
import { duel } from './duel.ts';
import { frozenLeader } from './frozen-leader.ts';
import { leaderDies } from './leader-dies.ts';
import { oneWayCut } from './one-way-cut.ts';
import { unchosenWal } from './unchosen-wal.ts';
import { wipedMajority } from './wiped-majority.ts';
import { wipedMinority } from './wiped-minority.ts';

const load: LoadStatus = {
  settings: { isRunning: true, clients: 4, perSecond: 10, readShare: 0.3 },
  counts: { acknowledged: 90, refused: 0, unknown: 0, reads: 10, readsRefused: 0 },
  lost: 0,
  lostIds: [],
  risen: 0,
  stale: 0,
  replicas: [{ id: 'r2', checkedAgoMs: 100, missing: 0, problem: null }],
};

const one = (id: string, changes: object = {}): ClusterReplica => replica(id, changes);
const leads = (id: string, round: number, changes: object = {}) =>
  one(id, { role: 'leader', leader: id, ballot: ballot(round, id), ...changes });
const start = [leads('r1', 1), one('r2'), one('r3')];
const after = [one('r1', { ballot: ballot(2, 'r2'), leader: 'r2' }), leads('r2', 2), one('r3')];

interface Look {
  readonly replicas: readonly ClusterReplica[];
  readonly load?: LoadStatus | null;
  readonly events?: readonly TraceEvent[];
}

/** What is seen in one look after the other, 1 s apart. */
function looks(...all: readonly Look[]): readonly Seen[] {
  let state = initialState;
  let seen: Seen | null = null;
  return all.map(({ replicas, events = [], ...given }, n) => {
    const atMs = (n + 1) * 1_000;
    const frames = [
      { type: 'cluster', cluster: clusterOf(...replicas) },
      { type: 'events', events },
    ] as const;
    state = reduceDashboard(state, { kind: 'frames', frames, atMs });
    state = { ...state, load: { ...state.load, status: given.load === undefined ? load : given.load } };
    seen = seen === null ? beginSeeing(state, atMs)! : seeOn(seen, state, atMs);
    return seen;
  });
}

function told(seen: readonly Seen[], begins: readonly Seen[] = seen): Told {
  return { start: seen[0]!, begins, ends: seen.slice(1), now: seen.at(-1)! };
}

describe('a leader that dies', () => {
  const died = [one('r1', { process: 'stopped' }), leads('r2', 2), one('r3')];
  const stopped = [one('r1', { process: 'stopped' }), one('r2'), one('r3')];
  const served = consensus({ replica: 'r2', seq: 9 }, { name: 'Serve', atUs: 3_400_000 });
  const last = (atUs: number): TraceEvent =>
    consensus({ replica: 'r1', seq: 8 }, { name: 'StartElection', atUs });
  const caption = (begin: readonly TraceEvent[], events: readonly TraceEvent[]): string =>
    leaderDies.chapters[1]!.caption(
      told(
        looks(
          { replicas: start },
          { replicas: stopped, events: begin },
          // Whoever reads takes a while.
          { replicas: stopped },
          { replicas: stopped },
          { replicas: died, events },
        ),
      ),
    );

  it('was silent from its last word until the next one served, however long a reader looked at that', () => {
    expect(caption([last(2_550_000)], [served])).toMatch(/^0\.9 s behind the last word of r1, r2 led\./);
    expect(caption([], [served])).toMatch(/^r2 leads now\./);
    expect(caption([last(2_550_000)], [])).toMatch(/^r2 leads now\./);
  });
});

describe('a frozen leader', () => {
  const twice = [leads('r1', 1), leads('r2', 2), one('r3')];
  const stale = { ...load, stale: 3, counts: { ...load.counts, reads: 14 } };

  it('that was seen to serve beside another one, and whose clients miss something, has led as well', () => {
    const [a, b, c, d] = looks(
      { replicas: start },
      { replicas: after },
      { replicas: twice },
      {
        replicas: after,
        load: stale,
      },
    ) as [Seen, Seen, Seen, Seen];
    const run: Told = { start: a, begins: [a, b], ends: [b, d], now: d };
    expect(frozenLeader.answer(run)).toMatchObject({ choice: 'both' });
    expect(frozenLeader.answer(run).happened).toContain(
      'r1 was seen to say that it leads and serves in ballot 1·r1',
    );
    const caption = frozenLeader.chapters[1]!.caption({ ...run, ends: [b] });
    expect(caption).toContain('Of 4 reads in between, 3 did not show what they had to.');
    expect(frozenLeader.answer({ ...run, ends: [b, c] }).choice).not.toBe('gives-up');
  });

  it('of which nothing was seen is not said to have answered nothing', () => {
    const { stale: _, ...unjudged } = load;
    const seen = looks(
      { replicas: start, load: unjudged },
      { replicas: after, load: unjudged },
      {
        replicas: after,
        load: unjudged,
      },
    );
    const caption = frozenLeader.chapters[1]!.caption({ ...told(seen), ends: [seen[1]!] });
    expect(caption).toContain('this load does not judge its reads');
    expect(caption).toContain('It was not seen to say that it serves while r2 did.');
    expect(frozenLeader.answer(told(seen)).choice).toBe('gives-up');
  });
});

describe('a one-way cut', () => {
  it('says who was elected, if somebody was', () => {
    const event = consensus(
      { replica: 'r2', seq: 1 },
      { name: 'BecomeLeader', state: { ballot: ballot(2, 'r2') } },
    );
    const caption = (look: Look) =>
      oneWayCut.chapters[2]!.caption(told(looks({ replicas: start }, look, { replicas: look.replicas })));
    expect(caption({ replicas: after, events: [event] })).toContain(
      'r2 was elected meanwhile, in ballot 2·r2.',
    );
    expect(caption({ replicas: start })).toContain('Nobody has stood for election since the cut.');
    const stood = consensus({ replica: 'r2', seq: 1 }, { name: 'StartElection' });
    expect(caption({ replicas: start, events: [stood] })).toContain(
      'r2 stood for election meanwhile, in vain',
    );
  });
});

describe('WAL that is not chosen', () => {
  const wal = (unchosenBytes: number) => ({
    ballot: ballot(2, 'r2'),
    leader: 'r2',
    wal: { timeline: 2, unchosenBytes },
  });
  const ends = (unchosenBytes: number, events: readonly TraceEvent[], of: LoadStatus = load) => {
    const replicas = [one('r1', wal(unchosenBytes)), leads('r2', 2), one('r3')];
    return told(
      looks(
        { replicas: start },
        { replicas: start },
        { replicas },
        { replicas },
        { replicas, events },
        { replicas, load: of },
      ),
    );
  };
  const parted = other({ seq: 1 }, { layer: 'apply', name: 'CheckPrefix', outcome: 'parted' });

  it('is written only where clients are answered before the leader is cut off', () => {
    const [chapter] = unchosenWal.chapters;
    const now = (acknowledged: number): Told => {
      const answered = { ...load, counts: { ...load.counts, acknowledged } };
      return told(looks({ replicas: start }, { replicas: start, load: answered }));
    };
    expect(chapter!.acts(now(90))).toEqual([]);
    expect(chapter!.hasComeAbout(now(90))).toBe(false);
    expect(chapter!.hasComeAbout(now(91))).toBe(true);
    expect(chapter!.caption(now(91))).toContain('1 write was answered');
    const unseen = told(looks({ replicas: start, load: null }, { replicas: start, load: null }));
    expect(chapter!.hasComeAbout(unseen)).toBe(true);
    expect(chapter!.caption(unseen)).toContain('not seen whether');
  });

  it('may be there still, and that is an answer', () => {
    expect(unchosenWal.answer(ends(90, [parted])).choice).toBe('kept');
    expect(unchosenWal.answer(ends(0, [parted])).choice).toBe('rewound');
    expect(unchosenWal.answer(ends(0, [])).choice).toBeNull();
  });

  it('was told of to clients, if writes of theirs are missing', () => {
    expect(unchosenWal.answer(ends(0, [parted])).happened).toContain(
      'All writes that clients had been told of were looked for since at r2, and are there.',
    );
    const early = { ...load, replicas: [{ ...load.replicas[0]!, checkedAgoMs: 1_500 }] };
    expect(unchosenWal.answer(ends(0, [parted], early)).happened).toContain(
      'nobody has looked for what was acknowledged since',
    );
    const lost = { ...load, lost: 2 };
    expect(unchosenWal.answer(ends(0, [parted], lost)).happened).toContain(
      'Of 90 writes that clients were told of, 2 are missing.',
    );
  });

  it('is not said to part where a copy is all that was seen', () => {
    const caption = (events: readonly TraceEvent[]) => unchosenWal.chapters[3]!.caption(ends(0, events));
    const copy = other({ seq: 1 }, { layer: 'apply', name: 'EndCopy', source: 'r2', slot: 9 });
    expect(caption([copy])).toContain('may be for another reason');
    expect(caption([parted])).toContain('parts from what was chosen');
  });
});

describe('a duel', () => {
  it('is not won by the highest ballot because it is the highest name', () => {
    const stood = (seq: number, id: string) =>
      consensus({ replica: id, seq }, { name: 'StartElection', state: { ballot: ballot(2, id) } });
    const events = [stood(1, 'r2'), stood(1, 'r3')];
    const why = (replicas: readonly ClusterReplica[]) =>
      duel.answer(told(looks({ replicas: start }, { replicas, events }))).why;
    expect(why(after)).toContain('The highest ballot in which anybody stood is 2·r3, and yet 2·r2');
    expect(why([one('r1'), one('r2'), leads('r3', 2)])).toContain('of those who stood, r3 has the highest');
  });
});

describe('a wiped minority', () => {
  it('was let in as it was proposed, though it has been promoted by when it was seen', () => {
    const members = membershipOf({ r1: 'voter', r2: 'voter', r3: 'voter' }, { r2: 2 });
    const proposed = (learners: readonly string[], voters: readonly string[]) =>
      consensus({ seq: 1 }, {
        name: 'Reconfigure',
        configurations: [{ version: 2, slot: 0, voters, learners }],
      } as never);
    const answer = (event: TraceEvent) =>
      wipedMinority.answer(
        told(
          looks(
            { replicas: start },
            { replicas: [leads('r1', 1, { membership: members }), ...start.slice(1)], events: [event] },
          ),
        ),
      );
    expect(answer(proposed(['r2.2'], ['r1', 'r3'])).choice).toBe('learner');
    expect(answer(proposed([], ['r1', 'r2.2', 'r3'])).choice).toBe('voter');
  });
});

describe('a wiped majority', () => {
  it('has lost what was chosen by when its disks were, however long the reader has waited', () => {
    const at = (slot: number) => [
      leads('r1', 1, { commitPoint: slot, lastSlot: slot }),
      one('r2', { commitPoint: 40, lastSlot: 40 }),
      one('r3'),
    ];
    const gone = [
      one('r1', { state: 'joining' }),
      one('r2', { lastSlot: 40 }),
      one('r3', { state: 'joining' }),
    ];
    const [a, b, c, d] = looks(
      { replicas: at(40) },
      { replicas: at(60) },
      {
        replicas: at(75),
        load: { ...load, counts: { ...load.counts, acknowledged: 97 } },
      },
      { replicas: gone },
    ) as [Seen, Seen, Seen, Seen];
    const run: Told = { start: a, begins: [a, c, d], ends: [b, d, d], now: d };
    expect(wipedMajority.answer(run).happened).toBe('Nobody leads; 35 chosen slots are gone.');
    const caption = wipedMajority.chapters[1]!.caption(run);
    expect(caption).toContain('Those 35 slots');
    expect(caption).toContain('Clients were told meanwhile of 7 writes.');
  });
});
