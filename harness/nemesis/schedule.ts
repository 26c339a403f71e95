/**
 * What the nemesis will do and when, drawn from a seed. Pure: the same seed, length and kinds give the same schedule.
 *
 * Who is struck is drawn as a wish (the leader, a follower, anyone); at its time the wish meets the cluster as it is then. Invariants: the last fault ends
 * before the run does; every kind is drawn once before any is drawn again.
 */
import { Random } from '../workload/seeded-random.ts';

export const faultKinds = [
  'kill',
  'killPostgres',
  'killMachine',
  'killBackend',
  'powerCut',
  'pause',
  'pausePostgres',
  'pausePostmaster',
  'slowStandby',
  'endWaits',
  'breakCopy',
  'isolate',
  'oneWay',
  'halves',
  'ring',
  'slow',
  'lossy',
  'duplicate',
  'clockRate',
  'wallClock',
  'slowDisk',
  'fullDisk',
  'tornTail',
  'flippedByte',
  'wipeLog',
  'wipeDatabase',
  'wipeBoth',
  'replace',
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** Where statements travel no standby is fed, and neither a log nor a database that is lost comes back by itself. */
const ofWal: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'pausePostmaster',
  'slowStandby',
  'endWaits',
  'breakCopy',
  'fullDisk',
  'flippedByte',
  'wipeLog',
  'wipeDatabase',
  'wipeBoth',
  'replace',
]);
export const statementFaultKinds = faultKinds.filter((kind) => !ofWal.has(kind));

export type Wish = 'leader' | 'follower' | 'anyone';

export interface PlannedFault {
  readonly number: number;
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly durationMs: number;
  readonly wish: Wish;
  /** In [0, 1): whatever else has to be chosen. */
  readonly choice: number;
}

export interface ScheduleOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly kinds: readonly FaultKind[];
  /** From the beginning of one fault to that of the next, on average. Faults overlap. */
  readonly gapMsMean?: number;
}

const quietAtBeginMs = 4000;
const quietAtEndMs = 6000;
const defaultGapMs = 6000;
const durationMsMin = 1500;
const durationMsMax = 8000;

export function drawSchedule({
  seed,
  durationMs,
  kinds,
  gapMsMean,
}: ScheduleOptions): readonly PlannedFault[] {
  const random = new Random(seed);
  const gapMs = gapMsMean ?? defaultGapMs;
  const lastMs = durationMs - quietAtEndMs;
  const faults: PlannedFault[] = [];
  let deck: FaultKind[] = [];
  for (let atMs = quietAtBeginMs; atMs < lastMs - durationMsMin && kinds.length > 0; ) {
    if (deck.length === 0) deck = shuffled(kinds, random);
    const wanted = Math.round(random.between(durationMsMin, durationMsMax));
    faults.push({
      number: faults.length + 1,
      kind: deck.pop()!,
      atMs: Math.round(atMs),
      durationMs: Math.min(wanted, Math.round(lastMs - atMs)),
      wish: random.pick(['leader', 'leader', 'follower', 'anyone'] as const),
      choice: random.unit(),
    });
    atMs += 0.3 * gapMs + random.exponential(0.7 * gapMs);
  }
  return faults;
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items];
  return Array.from({ length: items.length }, () => left.splice(random.below(left.length), 1)[0]!);
}

export function describePlan({ number, kind, atMs, durationMs, wish }: PlannedFault): string {
  const at = (atMs / 1000).toFixed(1).padStart(6);
  return `#${String(number).padEnd(3)} at ${at} s for ${(durationMs / 1000).toFixed(1)} s: ${kind} (${wish})`;
}
