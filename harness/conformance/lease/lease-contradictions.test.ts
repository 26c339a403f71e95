/** A trace that says one thing of the lease and another elsewhere is refused where it does. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { Ballot } from '../../../server/src/multipaxos/types/names.ts';
import { recordGroup } from '../fresh/record-group.ts';
import type { LeaseEvent } from './lease-event.ts';
import { leaseContradiction } from './lease-contradictions.ts';

/** In one of these somebody gives up, and the members change. */
const SEEDS = [1, 2, 3];

let runs: (readonly TraceEvent[])[] = [];

function isNamed(name: LeaseEvent['name']): (event: TraceEvent) => boolean {
  return (event) => event.layer === 'lease' && event.name === name;
}

/** The reason for which the run is refused when what `find` finds first is replaced. */
function reasonOf(
  find: (event: TraceEvent) => boolean,
  replace: (event: TraceEvent) => readonly TraceEvent[],
): string | null {
  for (const run of runs) {
    const target = run.find(find);
    if (target === undefined) continue;
    return (
      leaseContradiction(run.flatMap((event) => (event === target ? replace(event) : [event])))?.reason ??
      null
    );
  }
  throw new Error('no run has anything of the kind');
}

const dropped = (): readonly TraceEvent[] => [];

describe('a trace that contradicts itself about the lease', () => {
  beforeAll(async () => {
    runs = [];
    for (const seed of SEEDS) runs.push(await recordGroup(seed));
  });

  it('is not what a run records', () => {
    expect(runs.map(leaseContradiction)).toEqual(runs.map(() => null));
  });

  it.each([
    ['Restart', /does not tell it as Restart/],
    ['GivePromise', /does not tell it as GivePromise/],
    ['Lead', /does not tell it as Lead/],
    ['Learn', /does not tell that it counts by configuration/],
    ['Resign', /does not tell it as Resign/],
    ['RunRead', /has not begun/],
  ] as const)('lacks a %s', (name, reason) => {
    expect(reasonOf(isNamed(name), dropped)).toMatch(reason);
  });

  it('tells what did not happen', () => {
    expect(reasonOf(isNamed('GivePromise'), (event) => [event, event])).toMatch(
      /GivePromise came before it, and did not happen/,
    );
    expect(reasonOf(isNamed('Learn'), (event) => [event, event])).toBe(
      'nothing was chosen that it could have learnt',
    );
  });

  it.each([
    ['HandleHeartbeatAck', /had acknowledged that already/],
    ['RunRead', /begins twice/],
    ['AnswerRead', /it is told twice/],
    ['RefuseAnswer', /it is told twice/],
  ] as const)('tells a %s twice', (name, reason) => {
    expect(reasonOf(isNamed(name), (event) => [event, event])).toMatch(reason);
  });

  it.each([
    ['Resign', (event: TraceEvent) => ({ ...event, reason: 'removed' }), /does not tell it as Resign/],
    ['RefuseAnswer', (event: TraceEvent) => ({ ...event, generation: 999 }), /has not begun/],
    ['Lead', (event: TraceEvent) => ({ ...event, replica: 'r9' }), /is told by r9 in a run of/],
    ['Restart', (event: TraceEvent) => ({ ...event, leaseMs: undefined }), /is no leaseMs of Restart/],
    ['AnswerRead', (event: TraceEvent) => ({ ...event, lease: {} }), /is no lease of AnswerRead/],
    ['HandleHeartbeat', (event: TraceEvent) => ({ ...event, from: 'r1' }), /is no from of/],
  ] as const)('has a %s that no replica of that run tells', (name, change, reason) => {
    expect(reasonOf(isNamed(name), (event) => [change(event) as TraceEvent])).toMatch(reason);
  });

  it('names another ballot', () => {
    const higher = ({ round, replica }: Ballot): Ballot => ({ round: round + 1, replica });
    const renamed = (event: TraceEvent): readonly TraceEvent[] => [
      event.name === 'GivePromise' ? { ...event, ballot: higher(event.ballot) } : event,
    ];
    expect(reasonOf(isNamed('GivePromise'), renamed)).toMatch(/does not tell it as GivePromise/);
  });

  it('has a follower that hears a leader to whom it has not given its word', () => {
    const lost = runs[0]!.filter((event) => !isNamed('HandleHeartbeat')(event));
    expect(leaseContradiction(lost)?.reason).toMatch(/does not tell that it gave it its word/);
  });

  it('has a lease that rests on somebody of whom no acknowledgement was heard', () => {
    const leader = (runs[0]!.find(isNamed('HandleHeartbeatAck')) as TraceEvent).run;
    const lost = runs[0]!.filter((event) => event.run !== leader || !isNamed('HandleHeartbeatAck')(event));
    expect(leaseContradiction(lost)?.reason).toMatch(/its lease rests on r\d, who has acknowledged nothing/);
  });

  it('has an answer that leaves though a wait was ended, and no barrier was passed', () => {
    const wait = { layer: 'apply', name: 'EndWait' } as const;
    const barrier = { layer: 'apply', name: 'Barrier', slot: 1, position: 1, opens: false } as const;
    const behind =
      (...told: readonly (typeof wait | typeof barrier)[]) =>
      (event: TraceEvent): readonly TraceEvent[] => [
        ...told.map((one) => Object.assign({ ...event } as object, one) as unknown as TraceEvent),
        event,
      ];
    expect(reasonOf(isNamed('AnswerRead'), behind(wait))).toMatch(/no barrier has been passed since/);
    expect(reasonOf(isNamed('AnswerRead'), behind(wait, barrier))).toBeNull();
    expect(reasonOf(isNamed('RunRead'), behind(wait))).toBeNull();
  });

  it('has an answer that was read before its generation began, or a clock that goes back', () => {
    const soon = (event: TraceEvent): readonly TraceEvent[] => [
      event.name === 'AnswerRead' ? { ...event, ranMs: 0 } : event,
    ];
    expect(reasonOf(isNamed('AnswerRead'), soon)).toBe('it ran outside of its generation');
    const early = (event: TraceEvent): readonly TraceEvent[] => [
      event.name === 'AnswerRead' ? { ...event, clockMs: 0 } : event,
    ];
    expect(reasonOf(isNamed('AnswerRead'), early)).toMatch(/its clock goes back/);
  });
});
