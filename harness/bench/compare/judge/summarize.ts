/** Medians of the rounds, system by system. Pure. */
import { spread } from '../../summary.ts';
import type { WorkloadSummary } from '../comparison.ts';
import { costsBy, type MachineCosts } from '../machine-costs.ts';
import type { Run, WorkloadResult } from '../rounds.ts';
import { systemIds, type SystemId } from '../systems/system.ts';
import { of } from './goals.ts';

export function summarize({ workload, runs, failures }: WorkloadResult): WorkloadSummary {
  const medianOf = (system: SystemId): number | null => {
    const own = of(runs, system);
    return own.length === 0 ? null : median(own, ({ tps }) => tps);
  };
  const present = systemIds.filter((system) => of(runs, system).length > 0);
  return {
    workload: workload.name,
    label: workload.label,
    clients: workload.clients,
    failures,
    systems: present.map((system) => {
      const own = of(runs, system);
      const tps = spread(own.map((run) => run.tps));
      const against = (other: SystemId): number | null => {
        const others = medianOf(other);
        return others === null ? null : tps.median / others;
      };
      return {
        system,
        tps,
        latencyMs: spread(own.map((run) => run.latencyMs)),
        percentilesMs: {
          p50: median(own, (run) => run.percentilesMs.p50),
          p95: median(own, (run) => run.percentilesMs.p95),
          p99: median(own, (run) => run.percentilesMs.p99),
        },
        cpuMsPerTransaction: spread(own.map((run) => run.cpuMsPerTransaction)),
        cpuMsByPart: medianParts(own),
        costs: medianCosts(own),
        ofPlain: against('plain'),
        ofNative: against('native'),
      };
    }),
  };
}

function median(runs: readonly Run[], figure: (run: Run) => number): number {
  return spread(runs.map(figure)).median;
}

function medianParts(runs: readonly Run[]): Readonly<Record<string, number>> {
  const parts = new Set(runs.flatMap((run) => Object.keys(run.cpuMsByPart)));
  return Object.fromEntries(
    [...parts].map((part) => [part, median(runs, (run) => run.cpuMsByPart[part] ?? 0)]),
  );
}

function medianCosts(runs: readonly Run[]): MachineCosts | null {
  const told = runs.flatMap(({ costs }) => (costs === null ? [] : [costs]));
  if (told.length === 0) return null;
  return costsBy((name) => spread(told.map((costs) => costs[name])).median);
}
