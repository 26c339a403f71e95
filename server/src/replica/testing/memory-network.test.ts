/** Transports in simulated time, held to the contract that the one over sockets is held to. */
import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { ControlMessage } from '../../ports/control.ts';
import { Random } from '../../ports/testing/random.ts';
import { ProcessTime, SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { contractCluster, describeTransport } from '../../ports/testing/transport-contract.ts';
import { MemoryNetwork, type MemoryTransport } from './memory-network.ts';

const [r1, r2] = ['r1', 'r2'] as [ReplicaId, ReplicaId];

describeTransport('in simulated time', () => {
  const time = new SimulatedTime();
  const network = new MemoryNetwork(time, new Random(1));
  network.refuses = true;
  const open = (id: ReplicaId): MemoryTransport => network.transport(id, new ProcessTime(time));
  const [one, two] = [open(r1), open(r2)];
  one.become(r1, contractCluster);
  two.become(r2, contractCluster);
  return Promise.resolve({
    one,
    two,
    again() {
      network.died(r2);
      return Promise.resolve(open(r2));
    },
    async until(holds) {
      if (!(await time.passUntil(holds, 10_000, 1))) throw new Error('it has not come to hold');
    },
    dispose: () => Promise.resolve(),
  });
});

describe('faults that a replica was told of', () => {
  async function heard(tell: (one: MemoryTransport) => void): Promise<readonly number[]> {
    const time = new SimulatedTime();
    const network = new MemoryNetwork(time, new Random(1));
    const [one, two] = [r1, r2].map((id) => network.transport(id, new ProcessTime(time)));
    const atMs: number[] = [];
    two!.onControl(() => atMs.push(Math.floor(time.nowMs() / 100)));
    tell(one!);
    one!.sendControl(r2, { kind: 'VerifyQuestion' } as ControlMessage);
    await time.pass(1000);
    return atMs;
  }
  const fault = { from: r1, to: r2, cut: false, delayMs: 0, drop: 0, duplicate: 0 };

  it('are carried out in simulated time', async () => {
    expect(await heard(() => undefined)).toEqual([0]);
    expect(await heard((one) => one.setFault({ ...fault, delayMs: 400 }))).toEqual([4]);
    expect(await heard((one) => one.setFault({ ...fault, duplicate: 1 }))).toEqual([0, 0]);
    expect(await heard((one) => one.setFault({ ...fault, cut: true }))).toEqual([]);
  });

  it('are of its links only, and are forgotten with its process', () => {
    const time = new SimulatedTime();
    const network = new MemoryNetwork(time, new Random(1));
    const one = network.transport(r1, new ProcessTime(time));
    expect(() => one.setFault({ ...fault, from: r2, to: r1 })).toThrow(RangeError);
    one.setFault({ ...fault, drop: 1 });
    expect(one.faults()).toEqual([{ ...fault, drop: 1 }]);
    network.died(r1);
    expect(network.transport(r1, new ProcessTime(time)).faults()).toEqual([]);
  });
});
