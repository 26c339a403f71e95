import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { recordGroup } from '../fresh/record-group.ts';
import { checkTrace, findRejections } from './check-trace.ts';
import { mutants, type MutantKind } from './mutants.ts';
import { mutate, swapWithPrevious } from './mutate.ts';
import { ACTIONS } from './trace-command.ts';

/** With wiped logs, copied databases and changes of the members: there is something to alter in each way. */
const recorded = await recordGroup(36, 'losses');
const events = recorded.filter((event) => event.layer === 'consensus');
/** In which every action occurs. */
const whole = await recordGroup(71, 'losses');
/** Of many processes that are killed. */
const killing = await recordGroup(48, 'losses');

describe('a recorded run', () => {
  it('that the core made is accepted, with every action in it', async () => {
    const actions = new Set<string>();
    for (const run of [killing, recorded, whole]) {
      const outcome = await checkTrace(run);
      if (outcome.kind === 'rejected') throw new Error(`rejected at ${outcome.event}: ${outcome.reason}`);
      expect(outcome.events).toBe(run.filter(({ layer }) => layer === 'consensus').length);
      if (run === whole) for (const action of outcome.actions.keys()) actions.add(action);
    }
    expect([...actions]).toEqual(expect.arrayContaining([...ACTIONS]));
  });

  it('with any one event altered is rejected by the specification, at the event that was altered or at one that it makes impossible', async () => {
    const kinds = Object.keys(mutants) as MutantKind[];
    const mutated = kinds.map((kind) => mutate(recorded, kind));
    const found = await findRejections(
      mutated.map((one) => one.events),
      [],
      { isSpecAlone: true },
    );
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
    const outcome = await checkTrace(swapWithPrevious(recorded, flush));
    expect(outcome).toMatchObject({ kind: 'rejected', recorded: { name: 'Fsync', replica: flush.replica } });
  });

  it('that lacks the last moments of killed processes is accepted: others and their disks show what happened', async () => {
    // A process that is killed tells neither its end nor what that left on its disk.
    const ends = new Map<string, number>();
    for (const [index, event] of killing.entries()) {
      if (event.layer !== 'consensus' || event.name !== 'Crash') continue;
      const before = killing.findLast(
        ({ run, seq }, at) => at < index && run === event.run && seq < event.seq,
      );
      const isFlush = before?.layer === 'consensus' && before.name === 'Fsync' && before.sent === undefined;
      ends.set(event.run, event.seq - (isFlush ? 2 : 1));
    }
    const killed = killing.filter(({ run, seq }) => seq <= (ends.get(run) ?? Infinity));
    const traces = [...ends]
      .slice(0, 6)
      .flatMap(([run, end]) =>
        [0, 1].map((lost) => killed.filter((event) => event.run !== run || event.seq <= end - lost)),
      );
    expect(traces.length).toBeGreaterThan(10);
    expect((await findRejections(traces)).filter((rejected) => rejected !== null)).toEqual([]);
  });

  it('that does not say all is refused before it is checked', async () => {
    const middle = Math.floor(recorded.length / 2);
    await expect(checkTrace(recorded.filter((_, i) => i !== middle))).rejects.toThrow('has a gap');
    const [first] = events;
    await expect(checkTrace(recorded.filter((event) => event !== first))).rejects.toThrow(/gap|begins with/);
  });
});

/** The event before it in its run wrote a vote. */
function isOwnVote(index: number): boolean {
  const event = events[index] as TraceEvent;
  const previous = events.find((one) => one.run === event.run && one.seq === event.seq - 1);
  return previous?.layer === 'consensus' && previous.name === 'HandleAccept';
}
