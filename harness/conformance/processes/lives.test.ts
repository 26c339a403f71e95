/** Of what simulated groups record, only what processes would: the rest is put in again, so that the specification allows it. */
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { SimulatedGroup } from '../../../server/src/primary/testing/simulated-group.ts';
import { runPaxos } from '../../paxos/paxos-simulation.ts';
import { judgeProcesses, processAlterations, refusedAlterations } from './judge-processes.ts';
import { isProtocolTrace } from './lives.ts';

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

function paxos(seed: number): TraceEvent[] {
  const world = { replicas: 3, faultsMs: 400, healMs: 200, proposals: 14, traces: true };
  const { events } = runPaxos({ ...world, seed, loses: false, isUnsteady: seed % 4 === 2 });
  // A flush that no life heard of, and a crash, have no state: no process tells them.
  const told = events.filter(({ event }) => event.state !== undefined);
  return asProcesses(
    'PaxosStep',
    told.map(({ replica, event }) => ({ replica, step: event })),
  );
}

function primary(seed: number): TraceEvent[] {
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

const crashesIn = ({ actions }: Awaited<ReturnType<typeof judgeProcesses>>): number =>
  actions.get('Crash') ?? 0;

describe.each([
  ['Paxos', paxos, [2, 4, 6, 8]],
  ['PrimaryCopies', primary, [1, 3, 4, 7, 9, 10]],
] as const)('the lives of %s', (module, record, seeds) => {
  it('are what the specification allows, with the ends that nobody told', async () => {
    let crashes = 0;
    for (const seed of seeds) {
      const events = record(seed);
      expect(isProtocolTrace(events)).toBe(true);
      const verdict = await judgeProcesses(events);
      expect({ seed, ...verdict }).toMatchObject({ seed, protocol: module, refused: null });
      crashes += crashesIn(verdict);
    }
    expect(crashes).toBeGreaterThan(3);
  }, 60_000);

  it('are refused with one step altered', async () => {
    const altered = await refusedAlterations(record(seeds[0]), module);
    expect([...altered]).toEqual(Object.keys(processAlterations[module]).map((shows) => [shows, true]));
  }, 60_000);

  it('are not judged with a gap', async () => {
    const events = record(seeds[0]);
    await expect(judgeProcesses(events.slice(1))).rejects.toThrow('has a gap');
  });
});
