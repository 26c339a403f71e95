/** The transport over sockets, held to the contract that the one in simulated time is held to. */
import { eventually } from '../../ports/testing/eventually.ts';
import { contractCluster, describeTransport } from '../../ports/testing/transport-contract.ts';
import { freePort } from '../testing/ports.ts';
import { r1, r2, start } from './testing/transports.ts';

describeTransport('over sockets', async () => {
  const ports = { r1: await freePort(), r2: await freePort() };
  const open = async (id: typeof r1): Promise<Awaited<ReturnType<typeof start>>> => {
    const transport = await start(id, ports, { joined: false });
    transport.become(id, contractCluster);
    return transport;
  };
  const all = [await open(r1), await open(r2)];
  return {
    one: all[0]!,
    two: all[1]!,
    async again() {
      await all[1]!.close();
      // Where the system gives such ports to outgoing connections, one of them may have it for a moment.
      const next = await eventually(() => start(r2, ports, { joined: false }));
      all.push(next);
      return next;
    },
    until: (holds) =>
      eventually(() => {
        if (!holds()) throw new Error('it has not come to hold');
      }),
    async dispose() {
      for (const transport of all) await transport.close();
    },
  };
});
