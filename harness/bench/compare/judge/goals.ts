/**
 * What the figures are held against: for each, what must be reached and what is aimed at.
 *
 * Pure. Ratios are speed, of medians, to what the goal names; for times and costs less is better.
 */
import { spread, type Spread } from '../../summary.ts';
import type { Comparison } from '../comparison.ts';
import type { Run, WorkloadResult } from '../rounds.ts';
import { systemLabels, type SystemId } from '../systems/system.ts';
import { workloadLabels, type WorkloadName } from '../loads/workloads.ts';

export interface Figure {
  readonly value: number;
  /** Least and most of the rounds; for ratios, of the ratios of each round. */
  readonly min: number;
  readonly max: number;
}

export interface Goal {
  readonly id: string;
  readonly label: string;
  readonly unit: 'ratio' | 'ms' | '%';
  readonly must: number;
  /** Null: none is set. */
  readonly aim: number | null;
}

export type Verdict = 'aim' | 'must' | 'short';

export interface Judged extends Goal {
  readonly figure: Figure;
  readonly verdict: Verdict;
}

interface RatioGoal extends Goal {
  readonly unit: 'ratio';
  readonly workload: WorkloadName;
  readonly clients: number;
  readonly system: SystemId;
  readonly against: SystemId;
}

type Pair = readonly [system: SystemId, against: SystemId];

const ofStandbys: Pair = ['barista', 'native'];

function ratioGoal(
  workload: WorkloadName,
  clients: number,
  [system, against]: Pair,
  [must, aim]: readonly [must: number, aim: number | null],
): RatioGoal {
  const name = `${workloadLabels[workload]}, ${clients} client${clients === 1 ? '' : 's'}`;
  const what = system === 'barista' ? name : `${name}, ${systemLabels[system]}`;
  const isOrdinary = system === 'barista' && against !== 'pgpool';
  return {
    id: `${workload}-${clients}${isOrdinary ? '' : `-${system}-${against}`}`,
    label: `${what}, of ${systemLabels[against]}`,
    unit: 'ratio',
    must,
    aim,
    workload,
    clients,
    system,
    against,
  };
}

const ratioGoals: readonly RatioGoal[] = [
  // One client's latency may be one and a half times that of the standbys.
  ratioGoal('update', 1, ofStandbys, [1 / 1.5, 1]),
  ratioGoal('update', 16, ofStandbys, [0.6, 1]),
  ratioGoal('update', 64, ofStandbys, [0.6, 1]),
  ratioGoal('tpcb', 1, ofStandbys, [0.45, 0.8]),
  ratioGoal('tpcb', 16, ofStandbys, [0.75, 1]),
  ratioGoal('tpcc', 16, ofStandbys, [0.75, 1]),
  ratioGoal('ycsb-a', 16, ofStandbys, [0.6, 1]),
  ratioGoal('ycsb-b', 16, ofStandbys, [0.6, 1]),
  ratioGoal('select', 16, ['barista', 'plain'], [0.5, 0.8]),
  ratioGoal('select', 16, ['readers', 'barista'], [1.2, null]),
  ratioGoal('update', 16, ['barista', 'pgpool'], [4, 8]),
  ratioGoal('tpcb', 16, ['barista', 'pgpool'], [4, 8]),
  ratioGoal('tpcc', 16, ['barista', 'pgpool'], [4, 8]),
];

const copyGoal: Goal = {
  id: 'copy',
  label: 'COPY of a million rows until all have it, of standbys',
  unit: 'ratio',
  must: 0.6,
  aim: 0.9,
};
const cpuGoal: Goal = {
  id: 'cpu',
  label: 'CPU per UPDATE at 16 clients, all replicas',
  unit: 'ms',
  must: 0.6,
  aim: 0.4,
};
const outageGoals = {
  median: {
    id: 'outage-median',
    label: 'without service after kill -9 of the leader, median',
    unit: 'ms',
    must: 1200,
    aim: 600,
  },
  worst: {
    id: 'outage-worst',
    label: 'without service after kill -9 of the leader, worst',
    unit: 'ms',
    must: 4000,
    aim: 2000,
  },
} as const satisfies Readonly<Record<string, Goal>>;
const idleGoal: Goal = { id: 'idle', label: 'idle cluster of three, of a core', unit: '%', must: 5, aim: 1 };

/** Every goal that was measured, in a fixed order. */
export function judge(comparison: Pick<Comparison, 'workloads' | 'copies' | 'idle' | 'failovers'>): Judged[] {
  const { workloads, copies, idle, failovers } = comparison;
  const judged: Judged[] = [];
  const add = (goal: Goal, figure: Figure): void => {
    judged.push({ ...goal, figure, verdict: verdictOf(goal, figure.value) });
  };
  for (const { workload, clients, system, against, ...goal } of ratioGoals) {
    const runs = find(workloads, workload, clients)?.runs ?? [];
    if (of(runs, system).length === 0 || of(runs, against).length === 0) continue;
    add(
      goal,
      ratioOf(runs, system, against, ({ tps }) => tps),
    );
  }
  if (copies.length > 0) {
    add(
      copyGoal,
      ratioOf(copies, 'barista', 'native', ({ everywhereMs }) => 1 / everywhereMs),
    );
  }
  const updates = find(workloads, 'update', 16);
  if (updates !== null) {
    const costs = of(updates.runs, 'barista').map(({ cpuMsPerTransaction }) => cpuMsPerTransaction);
    add(cpuGoal, figureOf(spread(costs)));
  }
  const kills = failovers.filter(({ loss }) => loss === 'kill');
  if (kills.length > 0) {
    const times = spread(kills.map(({ withoutServiceMs }) => withoutServiceMs));
    add(outageGoals.median, figureOf(times));
    add(outageGoals.worst, { ...times, value: times.max });
  }
  if (idle !== null) {
    const value = idle.replicasPercent;
    add(idleGoal, { value, min: value, max: value });
  }
  return judged;
}

export function verdictOf({ unit, must, aim }: Goal, value: number): Verdict {
  const isReached = (limit: number): boolean => (unit === 'ratio' ? value >= limit : value <= limit);
  if (aim !== null && isReached(aim)) return 'aim';
  return isReached(must) ? 'must' : 'short';
}

/** Of medians; its spread is that of the rounds, each with itself. */
export function ratioOf<R extends { readonly round: number; readonly system: SystemId }>(
  runs: readonly R[],
  system: SystemId,
  against: SystemId,
  speed: (run: R) => number,
): Figure {
  const own = of(runs, system);
  const other = of(runs, against);
  const rounds = own.flatMap((run) => {
    const same = other.find(({ round }) => round === run.round);
    return same === undefined ? [] : [speed(run) / speed(same)];
  });
  const { min, max } = spread(rounds);
  return { value: spread(own.map(speed)).median / spread(other.map(speed)).median, min, max };
}

export function of<R extends { readonly system: SystemId }>(runs: readonly R[], system: SystemId): R[] {
  return runs.filter((run) => run.system === system);
}

function find(
  workloads: readonly WorkloadResult[],
  name: WorkloadName,
  clients: number,
): { readonly runs: readonly Run[] } | null {
  return workloads.find(({ workload }) => workload.name === name && workload.clients === clients) ?? null;
}

function figureOf({ min, median, max }: Spread): Figure {
  return { value: median, min, max };
}
