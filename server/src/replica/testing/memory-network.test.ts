/** Transports in simulated time, held to the contract that the one over sockets is held to. */
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { Random } from '../../ports/testing/random.ts';
import { ProcessTime, SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { contractCluster, describeTransport } from '../../ports/testing/transport-contract.ts';
import { MemoryNetwork, type MemoryTransport } from './memory-network.ts';

const [r1, r2] = ['r1', 'r2'] as [ReplicaId, ReplicaId];

describeTransport('in simulated time', () => {
  const time = new SimulatedTime();
  const network = new MemoryNetwork(time, new Random(1));
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
