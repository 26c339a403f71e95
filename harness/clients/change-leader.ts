/** Has another replica of a demo lead, as an operator would. */
import type { LeaderTransferAnswer } from '../../server/src/api/status.ts';
import type { LocalCluster } from '../cluster/local-cluster.ts';

const waitMsMax = 30_000;
const lookMs = 50;

/** Resolves when the demo's status tells so, too. @throws Error with the demo's answer */
export async function changeLeader(cluster: LocalCluster): Promise<void> {
  const response = await fetch(`${cluster.dashboardUrl}/api/leader/transfer`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ to: null, transactionMs: 1000 }),
  });
  if (!response.ok) throw new Error(`leadership was not handed over: ${await response.text()}`);
  const { leader } = (await response.json()) as LeaderTransferAnswer;
  const deadline = performance.now() + waitMsMax;
  while ((await cluster.leader()).id !== leader) {
    if (performance.now() > deadline) throw new Error(`${leader} was to lead, and does not`);
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}
