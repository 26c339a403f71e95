/**
 * Times of a recorded run in ticks, rounded down: true time, and each process's own clock.
 *
 * Responsible for: one clock for all lives of a replica. A clock begins at true time, or where it stood at the end of the life before, whatever the process counts from. Pure.
 */
import type { LeaseEvent, LeaseTerms } from './lease-event.ts';

const ticksPerMs = 10;
/** What arithmetic with fractions may be wrong by. */
const error = 1e-6;
/** Larger numbers, and products of a few of them, TLC does not know. */
const ticksMax = 2 ** 31 - 1;

function inTicks(ms: number): number {
  const ticks = Math.floor(ms * ticksPerMs + error);
  if (Math.abs(ticks) > ticksMax) throw new Error(`${ms} ms are too long for TLC`);
  return ticks;
}

/** True time, from the beginning of the run. */
export function trueTicks(atUs: number, beganAtUs: number): number {
  return inTicks((atUs - beganAtUs) / 1000) + 1;
}

/** The clock of one life of a replica. From 1: what it cannot have shown is taken for that. */
export interface LifeClock {
  readonly ticks: (clockMs: number) => number;
}

export function lifeClock(firstMs: number, firstTicks: number): LifeClock {
  return { ticks: (clockMs) => Math.max(1, firstTicks + inTicks(clockMs - firstMs)) };
}

/** @throws Error if the replicas do not all have the same */
export function termsOf(events: readonly LeaseEvent[]): LeaseTerms {
  const told = new Map<string, LeaseTerms>();
  for (const event of events) {
    if (event.name !== 'Restart') continue;
    const { leaseMs, clockDriftMax } = event;
    told.set(`${leaseMs} ms, ${clockDriftMax}`, {
      leaseLength: inTicks(leaseMs),
      leaderLength: Math.ceil(leaseMs * (1 - clockDriftMax) * ticksPerMs - error),
      drift: Math.round(clockDriftMax * 1000),
    });
  }
  const [terms, ...others] = told.values();
  if (terms === undefined) throw new Error('nobody tells how long its word counts');
  if (others.length > 0)
    throw new Error(`replicas keep their word for different times: ${[...told.keys()].join('; ')}`);
  return terms;
}
