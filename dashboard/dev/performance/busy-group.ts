/** Development only: a busy simulated group behind the demo's own server, in a process of its own, so that what it costs is not the page's. Tells its port, and then each second how many requests its clients have had an answer to. */
import { MemoryClient } from '../../../server/src/replica/testing/memory-client.ts';
import { startFixture } from '../simulated-fixture.ts';

export interface BusyGroupSetup {
  readonly replicas: number;
  readonly clients: number;
  /** Where the page was built. */
  readonly dir: string;
}

export type FromBusyGroup =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'answered'; readonly requests: number; readonly simulatedMs: number }
  | { readonly kind: 'trouble'; readonly text: string };

const seed = 1;
const tellMs = 1_000;

/** Of each client, between an answer and its next request. */
const restMsMax = 160;
/** Lists are copied whenever something is added to them. */
const rowsInList = 100;

const { replicas, clients, dir } = JSON.parse(process.argv[2]!) as BusyGroupSetup;
const dashboard = { kind: 'ready', dir } as const;
const say = (message: FromBusyGroup): void => void process.send!(message);
process.once('disconnect', () => process.exit());
const quiet = { clients: 0, port: 0, say: () => undefined };
const fixture = await startFixture({ seed, replicas, dashboard, ...quiet });
const { group, pace, demo, beganMs } = fixture;
const client = new MemoryClient(group);
let requests = 0;

/** Rows of its own, so that nobody waits for another's lock. */
async function work(number: number): Promise<never> {
  const random = group.random.fork();
  for (let row = 0; ; row += 1) {
    await new Promise<void>((resolve) => group.time.after(random.next() * restMsMax, resolve));
    const key = `of_${number}_${Math.floor(row / rowsInList)}`;
    const end = await client.transact({ reads: [], writes: [{ key, value: String(row) }] });
    if (end.kind === 'done') requests += 1;
  }
}

for (let number = 0; number < clients; number += 1) void work(number);
say({ kind: 'ready', port: demo.port });
setInterval(() => {
  say({ kind: 'answered', requests, simulatedMs: group.time.nowMs() - beganMs });
  for (const text of group.troubles.splice(0)) say({ kind: 'trouble', text });
}, tellMs);
await pace.playTo(Number.POSITIVE_INFINITY, 1);
