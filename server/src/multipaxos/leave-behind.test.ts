import { describe, expect, it } from 'vitest';
import {
  ballot,
  command,
  founding,
  group,
  newFollower,
  type OneCore,
  r2,
  r3,
  slot,
  vote,
} from './testing/one-core.ts';
import type { Entry } from './types/entries.ts';
import type { CatchUpReply } from './types/messages.ts';
import type { RecoveredLog } from './types/records.ts';

const first = ballot(1, r2);
/** Two windows are four slots. */
const narrow = { windowSlotsMax: 2 };

function reply(fromSlot: number, purgedTo: number, commitPoint: number, entries: Entry[] = []): CatchUpReply {
  return {
    kind: 'CatchUpReply',
    group,
    ballot: first,
    firstSlot: slot(fromSlot),
    entries,
    commitPoint: slot(commitPoint),
    purgedTo: slot(purgedTo),
    configuration: founding,
  };
}

/** It has voted for the first three slots, knows one of them to be chosen, and waits for a copy. */
function newLaggard(recovered: Partial<RecoveredLog> = {}): OneCore {
  const tail = [2, 3].map((at) => vote(at, first, `c${at}`));
  const core = newFollower(narrow, { promised: first, commitPoint: slot(1), tail, ...recovered });
  core.input({ kind: 'CopyAwaited' });
  return core;
}

describe('a replica that waits for a copy', () => {
  it('goes on above what whoever it asks has purged, and votes there before the copy has come', () => {
    const core = newLaggard();
    core.receive(r2, core.accept(first, 41, [command('c41')], 40));
    core.fsync();
    expect(core.take('Accepted')).toEqual([]);
    core.receive(r2, reply(2, 36, 40));
    expect(core.state).toMatchObject({ commitPoint: 36, purgedTo: 36, reported: 36, tailBytes: 0 });
    expect(core.records()).toEqual([{ kind: 'base', slot: 36, configuration: founding }]);
    // It asks on at once.
    expect(core.take('CatchUpRequest')).toMatchObject([{ fromSlot: 37, toSlot: 40 }]);
    core.receive(
      r2,
      reply(
        37,
        36,
        40,
        [37, 38, 39, 40].map((at) => command(`c${at}`)),
      ),
    );
    core.receive(r2, core.accept(first, 41, [command('c41')], 40));
    core.fsync();
    expect(core.take('Accepted').at(-1)).toMatchObject({ firstSlot: 41, lastSlot: 41, commitPoint: 40 });
  });

  it('keeps its votes above', () => {
    const core = newLaggard({ tail: [vote(2, first, 'c2'), vote(38, first, 'c38')] });
    core.receive(r2, reply(2, 36, 40));
    expect([...core.state.log.keys()]).toEqual([38]);
  });

  it('tells no more than two windows of votes, however often it is left behind', () => {
    const core = newLaggard();
    for (let at = 40; at <= 400; at += 40) {
      core.receive(
        r2,
        core.accept(
          first,
          at + 1,
          Array.from({ length: 8 }, (_, n) => command(`c${at + n}`)),
          at,
        ),
      );
      core.receive(r2, reply(core.state.commitPoint + 1, at - 4, at));
      for (let next = core.state.commitPoint + 1; next <= at; next = core.state.commitPoint + 1)
        core.receive(r2, reply(next, at - 4, at, [command(`c${next}`)]));
      core.receive(
        r2,
        core.accept(
          first,
          at + 1,
          Array.from({ length: 8 }, (_, n) => command(`c${at + n}`)),
          at,
        ),
      );
      expect(core.state.commitPoint).toBe(at);
      expect(core.state.lastSlot).toBe(at + 4);
    }
    core.fsync();
    core.effects = [];
    core.nowMs += 1000;
    core.receive(r3, { kind: 'Prepare', group, ballot: ballot(2, r3), commitPoint: slot(0) });
    core.fsync();
    const [promise] = core.take('Promise');
    expect(promise).toMatchObject({ commitPoint: 400 });
    expect(promise!.votes.map((one) => one.slot)).toEqual([401, 402, 403, 404]);
  });

  it('tells of the base that it went on from only when that is durable', () => {
    const core = newLaggard();
    core.receive(r2, reply(2, 36, 40));
    core.nowMs += 1000;
    core.receive(r3, { kind: 'Prepare', group, ballot: ballot(2, r3), commitPoint: slot(0) });
    expect(core.take('Promise')).toEqual([]);
    core.fsync();
    expect(core.take('Promise')).toMatchObject([{ commitPoint: 36, votes: [] }]);
  });
});

describe('a replica stays where it is', () => {
  const whereItIs = ({ state }: OneCore) => ({
    commitPoint: state.commitPoint,
    purgedTo: state.purgedTo,
    keeps: state.log.has(slot(2)),
  });
  const unmoved = { commitPoint: 1, purgedTo: 0, keeps: true };

  it('while it waits for no copy', () => {
    const core = newFollower(narrow, {
      promised: first,
      commitPoint: slot(1),
      tail: [vote(2, first, 'c2')],
    });
    core.receive(r2, reply(2, 36, 40));
    expect(whereItIs(core)).toEqual(unmoved);
  });

  it('when a database has come up again', () => {
    const restored = newLaggard();
    restored.restored(1);
    restored.receive(r2, reply(2, 36, 40));
    expect(whereItIs(restored)).toEqual(unmoved);
    const applied = newLaggard();
    applied.applied(1);
    applied.receive(r2, reply(2, 36, 40));
    expect(whereItIs(applied)).toEqual(unmoved);
  });

  it('when less than two windows are chosen above: who voted for them may not know what it leaves', () => {
    const core = newLaggard();
    core.receive(r2, reply(2, 37, 40));
    expect(whereItIs(core)).toEqual(unmoved);
    // Another one knows that more is.
    core.receive(r3, reply(2, 0, 41));
    core.receive(r2, reply(2, 37, 40));
    expect(core.state.commitPoint).toBe(37);
  });

  it('when the newest slot that is chosen may have been chosen with its vote', () => {
    const core = newLaggard({ tail: [vote(2, first, 'c2'), vote(40, first, 'c40')] });
    core.receive(r2, reply(2, 36, 40));
    expect(whereItIs(core)).toEqual(unmoved);
  });

  it('when whoever it asks has what it lacks', () => {
    const core = newLaggard();
    core.receive(r2, reply(2, 1, 40));
    expect(whereItIs(core)).toEqual(unmoved);
  });
});
