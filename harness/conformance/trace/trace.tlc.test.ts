import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { recordSeed } from '../fresh/record-seed.ts';
import { checkTrace, findRejections } from './check-trace.ts';
import { mutants, type MutantKind } from './mutants.ts';
import { mutate, swapWithPrevious } from './mutate.ts';
import { ACTIONS } from './trace-command.ts';

/** A simulated run with many crashes and elections. */
const events = recordSeed(14, { mix: 'default', steps: 1500 });
/** One with wiped logs, copied databases and changes of the members, in which every action occurs. */
const changing = recordSeed(214, { mix: 'losses', steps: 1500 });
/** These need a change to alter. */
const ofMembers: readonly MutantKind[] = [
  'configuration-unnoticed',
  'other-voters',
  'other-voters-proposed',
  'drop-reconfigure',
  'restored-too-far',
];

describe('a recorded run', () => {
  it('that the core made is accepted, with every action in it', async () => {
    expect(await checkTrace(events)).toMatchObject({ kind: 'accepted', events: events.length });
    const outcome = await checkTrace(changing);
    if (outcome.kind === 'rejected') throw new Error(`rejected at ${outcome.event}: ${outcome.reason}`);
    expect(outcome.events).toBe(changing.length);
    expect([...outcome.actions.keys()]).toEqual(expect.arrayContaining([...ACTIONS]));
  });

  it('with any one event altered is rejected by the specification, at the event that was altered or at one that it makes impossible', async () => {
    const usual = (Object.keys(mutants) as MutantKind[]).filter((kind) => !ofMembers.includes(kind));
    const kinds = [...usual, ...ofMembers];
    const mutated = kinds.map((kind) => mutate(ofMembers.includes(kind) ? changing : events, kind));
    const found = [
      ...(await findRejections(
        mutated.slice(0, usual.length).map((one) => one.events),
        [],
        { isSpecAlone: true },
      )),
      ...(await findRejections(
        mutated.slice(usual.length).map((one) => one.events),
        [],
        { isSpecAlone: true },
      )),
    ];
    for (const [i, kind] of kinds.entries()) {
      const { original } = mutated[i] as (typeof mutated)[number];
      const at = found[i]?.event;
      expect({ kind, rejected: found[i] != null }).toEqual({ kind, rejected: true });
      const isSame = at?.run === original.run && at.seq === original.seq;
      expect({ kind, isThere: isSame || mutants[kind].stopsAt === 'later' }).toEqual({ kind, isThere: true });
      expect(at?.atUs).toBeGreaterThanOrEqual(original.atUs);
    }
  });

  it('with a flush before the vote that it flushes is rejected, and the event is shown', async () => {
    const flush = events.find(
      (event, i) =>
        event.layer === 'consensus' &&
        event.name === 'Fsync' &&
        (event.votes ?? []).length > 0 &&
        isOwnVote(i),
    ) as TraceEvent;
    const outcome = await checkTrace(swapWithPrevious(events, flush));
    expect(outcome).toMatchObject({ kind: 'rejected', recorded: { name: 'Fsync', replica: flush.replica } });
  });

  it('that lacks the last moments of killed processes is accepted: others and their disks show what happened', async () => {
    // A process that is killed tells neither its end nor what that left on its disk.
    const ends = new Map<string, number>();
    for (const [index, event] of events.entries()) {
      if (event.layer !== 'consensus' || event.name !== 'Crash') continue;
      const before = events.findLast(
        ({ run, seq }, at) => at < index && run === event.run && seq < event.seq,
      );
      const isFlush = before?.layer === 'consensus' && before.name === 'Fsync' && before.sent === undefined;
      ends.set(event.run, event.seq - (isFlush ? 2 : 1));
    }
    const killed = events.filter(({ run, seq }) => seq <= (ends.get(run) ?? Infinity));
    const traces = [...ends]
      .slice(0, 6)
      .flatMap(([run, end]) =>
        [0, 1].map((lost) => killed.filter((event) => event.run !== run || event.seq <= end - lost)),
      );
    expect(traces.length).toBeGreaterThan(10);
    expect((await findRejections(traces)).filter((rejected) => rejected !== null)).toEqual([]);
  });

  it('that does not say all is refused before it is checked', async () => {
    const middle = Math.floor(events.length / 2);
    await expect(checkTrace(events.filter((_, i) => i !== middle))).rejects.toThrow('has a gap');
    const [first] = events;
    await expect(checkTrace(events.filter((event) => event !== first))).rejects.toThrow(/gap|begins with/);
  });
});

/** The event before it in its run wrote a vote. */
function isOwnVote(index: number): boolean {
  const event = events[index] as TraceEvent;
  const previous = events.find((one) => one.run === event.run && one.seq === event.seq - 1);
  return previous?.layer === 'consensus' && previous.name === 'HandleAccept';
}
