/** Has another replica of a demo lead, as an operator would: who is told that it did not come to it asks again. */
import { setTimeout as pause } from 'node:timers/promises';
import type { LeaderTransferAnswer } from '../../server/src/api/status.ts';
import type { LocalCluster } from '../cluster/local-cluster.ts';

const waitMsMax = 30_000;
const againMs = 500;
const lookMs = 50;

/** Resolves when the demo's status tells so, too. @throws Error with the demo's last answer */
export async function changeLeader(cluster: LocalCluster): Promise<void> {
  const deadline = performance.now() + waitMsMax;
  const leader = await transferred(cluster, deadline);
  while ((await cluster.leader()).id !== leader) {
    if (performance.now() > deadline) throw new Error(`${leader} was to lead, and does not`);
    await pause(lookMs);
  }
}

async function transferred(cluster: LocalCluster, deadline: number): Promise<string> {
  for (;;) {
    const response = await fetch(`${cluster.dashboardUrl}/api/leader/transfer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ to: null, transactionMs: 1000 }),
    });
    if (response.ok) return ((await response.json()) as LeaderTransferAnswer).leader;
    const why = await response.text();
    // On a busy machine nobody may be ready in time.
    if (performance.now() > deadline) throw new Error(`leadership was not handed over: ${why}`);
    await pause(againMs);
  }
}
