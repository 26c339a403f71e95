import { describe, expect, it } from 'vitest';
import { learnReply } from './step.ts';
import { at, ballot, command, emptyPaxosLog, OnePaxos, r1, r2, r3 } from './testing/one-paxos.ts';

const status = { kind: 'Status', commitPoint: at(0) } as const;

function withThree(): OnePaxos {
  const core = new OnePaxos();
  for (const client of ['a', 'b', 'c']) core.choose(client);
  core.propose('last');
  core.flush();
  return core;
}

describe('Min', () => {
  it('is the least that all have done, durably, and what is at or below is forgotten', () => {
    const core = withThree();
    core.input({ kind: 'Applied', slot: at(3), durableSlot: at(2) });
    core.hear(r2, status, 3);
    core.tick(1);
    expect(core.effectsOf('purge')).toEqual([]);
    core.hear(r3, status, 1);
    core.tick(1);
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 1 }]);
    core.hear(r3, status, 3);
    core.tick(1);
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 2 }]);
    core.hear(r3, status, 1);
    core.tick(1);
    expect(core.effectsOf('purge')).toEqual([]);
    // What came late is no news.
    core.input({ kind: 'Applied', slot: at(3), durableSlot: at(3) });
    core.tick(1);
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 3 }]);
  });

  it('waits for the log, where the database is ahead of it', () => {
    const core = new OnePaxos();
    core.hear(
      r2,
      {
        kind: 'LearnReply',
        firstSlot: at(1),
        entries: [command('a')],
        purgedTo: at(0),
      },
      1,
    );
    core.hear(r3, status, 1);
    core.input({ kind: 'Applied', slot: at(1), durableSlot: at(1) });
    core.tick(1);
    expect(core.effectsOf('purge')).toEqual([]);
    core.flush();
    core.tick(1);
    expect(core.effectsOf('purge')).toEqual([{ kind: 'purge', upTo: 1 }]);
  });

  it('is told with every message', () => {
    const core = withThree();
    core.input({ kind: 'Applied', slot: at(3), durableSlot: at(2) });
    core.tick(100);
    expect(core.effectsOf('send').map(({ message }) => message.done)).not.toContain(0);
    expect(learnReply(core.state, at(1), [])).toMatchObject({
      kind: 'LearnReply',
      done: 2,
      purgedTo: 0,
    });
  });
});

describe('what is told to be done', () => {
  const told = (core: OnePaxos): readonly number[] => {
    core.tick(100);
    return [...new Set(core.sent('Status').map(({ message }) => message.done))];
  };

  it('is found in the log as decided by a restart, so that others forget nothing which an older copy of the database needs', () => {
    const core = new OnePaxos();
    for (const client of ['a', 'b', 'c']) core.choose(client);
    core.input({ kind: 'Applied', slot: at(3), durableSlot: at(3) });
    const recorded = core.records.flatMap((record) => (record.kind === 'commitPoint' ? [record.slot] : []));
    expect(recorded.at(-1)).toBe(2);
    expect(told(core)).toEqual([2]);
    core.propose('d');
    expect(told(core)).toEqual([2]);
    core.flush();
    expect(told(core)).toEqual([3]);
  });

  it('may be what a restart has found', () => {
    const core = new OnePaxos({}, { ...emptyPaxosLog, commitPoint: at(5) });
    core.input({ kind: 'Restored', slot: at(7) });
    expect(told(core)).toEqual([5]);
    core.flush();
    expect(told(core)).toEqual([7]);
  });
});

describe('a database that came up', () => {
  it('with more than the log has, moves the base of the log, and gives up what it had proposed there', () => {
    const core = new OnePaxos();
    core.propose('a', 'b');
    core.input({ kind: 'Restored', slot: at(1) });
    expect(core.effectsOf('refused')).toEqual([
      {
        kind: 'refused',
        proposal: { client: 'a', request: 1 },
        code: 'forgotten',
      },
    ]);
    expect(core.effectsOf('persist')[0]?.records).toMatchObject([{ kind: 'base', slot: 1 }]);
    expect(core.state).toMatchObject({ commitPoint: 1, purgedTo: 1, done: 1 });
    core.hear(r2, { kind: 'SlotPrepare', slot: at(1), ballot: ballot(9, r2) });
    expect(core.sent('LearnReply')).toMatchObject([{ message: { purgedTo: 1 } }]);
  });

  it('with what the log holds and does not know to be decided, finds that out, and does not take votes for chosen', () => {
    const core = new OnePaxos();
    core.hear(r2, {
      kind: 'SlotAccept',
      slot: at(1),
      ballot: ballot(1, r2),
      entry: command('x'),
    });
    core.input({ kind: 'Restored', slot: at(1) });
    expect(core.state).toMatchObject({ commitPoint: 0, done: 1 });
    core.hear(r3, {
      kind: 'LearnReply',
      firstSlot: at(1),
      entries: [command('y')],
      purgedTo: at(0),
    });
    expect(core.effectsOf('chosen')[0]?.entries).toEqual([{ slot: 1, entry: command('y') }]);
  });

  it('is believed where all others have forgotten', () => {
    const core = new OnePaxos();
    core.hear(r2, {
      kind: 'SlotAccept',
      slot: at(1),
      ballot: ballot(1, r2),
      entry: command('x'),
    });
    core.input({ kind: 'Restored', slot: at(1) });
    core.hear(r3, {
      kind: 'LearnReply',
      firstSlot: at(1),
      entries: [],
      purgedTo: at(1),
    });
    expect(core.effectsOf('forgotten')).toEqual([]);
    expect(core.state).toMatchObject({ commitPoint: 1, purgedTo: 1 });
  });

  it('without what others have forgotten needs a copy', () => {
    const core = new OnePaxos();
    core.hear(r3, {
      kind: 'LearnReply',
      firstSlot: at(1),
      entries: [],
      purgedTo: at(5),
    });
    expect(core.effectsOf('forgotten')).toEqual([{ kind: 'forgotten', peer: r3, purgedTo: 5 }]);
    core.input({ kind: 'Restored', slot: at(7) });
    expect(core.state).toMatchObject({ commitPoint: 7, purgedTo: 7 });
    core.propose('a');
    expect(core.effectsOf('proposed')).toMatchObject([{ slot: 8 }]);
  });

  it('without what this replica has forgotten needs a copy, too, and counts as one that has done less', () => {
    const core = withThree();
    core.input({ kind: 'Applied', slot: at(3), durableSlot: at(3) });
    for (const from of [r2, r3]) core.hear(from, status, 2);
    core.tick(1);
    core.input({ kind: 'Restored', slot: at(0) });
    expect(core.effectsOf('forgotten')).toEqual([{ kind: 'forgotten', peer: r1, purgedTo: 2 }]);
    expect(core.state.done).toBe(0);
  });

  it('leaves decided slots above it as they are', () => {
    const core = new OnePaxos();
    core.hear(r2, {
      kind: 'LearnReply',
      firstSlot: at(3),
      entries: [command('c')],
      purgedTo: at(0),
    });
    core.input({ kind: 'Restored', slot: at(2) });
    expect(core.state.commitPoint).toBe(3);
    expect(core.effectsOf('chosen')[0]?.entries).toEqual([{ slot: 3, entry: command('c') }]);
  });
});

describe('a configuration', () => {
  it('names one to seven members once, this one among them', () => {
    for (const members of [
      [],
      [r2, r3],
      [r1, r1],
      Array.from({ length: 8 }, (_, i) => `r${i + 1}` as typeof r1),
    ])
      expect(() => new OnePaxos({ members })).toThrow('TypeOK');
  });
});
