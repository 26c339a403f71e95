/** What a trace tells of configurations, and what it leaves out. */
import { describe, expect, it } from 'vitest';
import {
  ballot,
  command,
  configuration,
  configurationEntry,
  founding,
  group,
  newCandidate,
  newFollower,
  newServingLeader,
  OneCore,
  promise,
  r1,
  r2,
  r3,
  slot,
} from './testing/one-core.ts';
import type { Entry } from './types/entries.ts';
import type { CatchUpReply } from './types/messages.ts';
import type { ReplicaId } from './types/names.ts';
import type { CoreTraceEvent } from './types/trace.ts';

const first = ballot(1, r2);
const grown = configuration([r1, r2, r3], { learners: ['r4' as ReplicaId], version: 2 });
const entry = configurationEntry(first, grown);

function eventOf(core: OneCore, name: string): CoreTraceEvent {
  const found = core.effectsOf('trace').find(({ event }) => event.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found.event;
}

const versions = (core: OneCore, name: string): number[] =>
  (eventOf(core, name).configurations ?? []).map(({ version }) => version);

function reply(firstSlot: number, entries: readonly Entry[]): CatchUpReply {
  const commitPoint = slot(firstSlot + entries.length - 1);
  const rest = { firstSlot: slot(firstSlot), entries, purgedTo: slot(0), configuration: founding };
  return { kind: 'CatchUpReply', group, ballot: first, commitPoint, ...rest };
}

describe('a trace tells a configuration', () => {
  it('at each beginning of a leadership, and those that it found', () => {
    const core = newCandidate();
    promise(core, r2, [{ slot: slot(2), ballot: first, entry }]);
    expect(versions(core, 'BecomeLeader')).toEqual([2, 1]);
  });

  it('that a promise brings as a vote, or is older than the own one', () => {
    const known = configuration([r1, r2, r3], { version: 3, slot: 4 });
    const core = newCandidate({}, { configuration: known, commitPoint: slot(4) });
    promise(core, r2, [
      { slot: slot(6), ballot: first, entry: configurationEntry(first, { ...grown, version: 4 }) },
    ]);
    expect(versions(core, 'HandlePromise')).toEqual([4, 1]);
  });

  it('that it is asked to vote for, for which it has no room yet', () => {
    const core = newFollower();
    core.receive(r2, core.accept(first, 1, [command('a'), entry]));
    expect(versions(core, 'HandleAccept')).toEqual([2]);
  });

  it('that it learns as chosen, and then knows', () => {
    const core = newFollower();
    core.receive(r2, reply(1, [entry]));
    expect(versions(core, 'HandleCatchUpReply')).toEqual([2, 2]);
    expect(eventOf(core, 'HandleCatchUpReply')).toMatchObject({
      message: { configuration: 1 },
      votes: [[1, null, 'members:2:1.r2']],
    });
  });

  it('that its log recovers', () => {
    const tail = [{ slot: slot(3), ballot: first, entry }];
    const core = new OneCore({}, { promised: first, tail });
    core.tick();
    expect(versions(core, 'Restart')).toEqual([2, 1]);
  });
});

describe('an event', () => {
  it('has no field that it has nothing for', () => {
    const core = newFollower({}, { promised: first });
    core.receive(r2, { ...core.accept(first, 1, [], 0), entries: [] });
    core.receive(r2, core.accept(first, 1, [command('a')]));
    core.receive(r2, core.accept(first, 2, [], 1));
    const event = core.effectsOf('trace').at(-1)!.event;
    expect(Object.keys(event)).toEqual(['name', 'from', 'message', 'state']);
    core.tick(700);
    core.receive(r3, {
      kind: 'PreVoteReply',
      group,
      ballot: ballot(2, r1),
      granted: true,
      configuration: founding,
    });
    expect(Object.keys(eventOf(core, 'StartElection'))).toEqual(['name', 'state']);
  });

  it.each(['all', 'rare'] as const)('tells nothing of the one before it in the same step (%s)', (trace) => {
    const core = newServingLeader({ trace });
    core.effects = [];
    core.receive(r2, reply(2, [command('a')]));
    const event = eventOf(core, 'StepDown');
    expect(Object.keys(event)).toEqual(['name', 'reason', 'state']);
  });
});
