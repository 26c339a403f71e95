/** For tests: what simulated groups of single-decree Paxos, and of a primary and its copies, record, as processes would write it. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { SimulatedGroup } from '../../../server/src/primary/testing/simulated-group.ts';
import { runPaxos } from '../../paxos/paxos-simulation.ts';

type Told = { readonly replica: ReplicaId; readonly step: { readonly name: string } };

/** As processes write it: a run for each life, without a word of its end, numbered and stamped. */
function asProcesses(name: 'PaxosStep' | 'PrimaryStep', all: readonly Told[]): TraceEvent[] {
  const lives = new Map<ReplicaId, number>();
  const seqs = new Map<string, number>();
  return all.map(({ replica, step }, index) => {
    if (step.name === 'Restart') lives.set(replica, (lives.get(replica) ?? 0) + 1);
    const run = `${replica}-${lives.get(replica)}`;
    const seq = (seqs.get(run) ?? 0) + 1;
    seqs.set(run, seq);
    return { seq, run, replica, atUs: index, layer: 'protocol', name, step };
  });
}

export function paxosAsProcesses(seed: number): TraceEvent[] {
  const world = { replicas: 3, faultsMs: 400, healMs: 200, proposals: 14, traces: true };
  const { events } = runPaxos({ ...world, seed, loses: false, isUnsteady: seed % 4 === 2 });
  // A flush that no life heard of, and a crash, have no state: no process tells them.
  const told = events.filter(({ event }) => event.state !== undefined);
  return asProcesses(
    'PaxosStep',
    told.map(({ replica, event }) => ({ replica, step: event })),
  );
}

export function primaryAsProcesses(seed: number): TraceEvent[] {
  const config = { keepSlots: 1000, keepBytesMax: 100_000 };
  const levels = ['async', 'majority', 'semi', 'sync'] as const;
  const group = new SimulatedGroup({ seed, replicas: 3, levels, operations: 40, beginsAnew: 0.2, config });
  group.run(600);
  const told = group.events.filter(({ name }) => name !== 'Crash');
  return asProcesses(
    'PrimaryStep',
    told.map(({ replica, ...step }) => ({ replica, step })),
  );
}
