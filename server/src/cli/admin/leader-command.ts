/** `barista leader transfer`: asks the leader to have another replica lead, and says who does. */
import type { LeaderTransferAnswer, LeaderTransferRequest } from '../../api/status.ts';
import type { TransferArguments } from '../program-admin.ts';
import { type AdminTarget, askAdmin } from './admin-client.ts';

/** The replica itself waits some seconds for the next leader, besides what transactions are given. */
const patienceMs = 15_000;

/** @throws CliError */
export async function runTransfer(
  target: AdminTarget,
  { to, transactionMs }: TransferArguments,
  say: (line: string) => void,
): Promise<void> {
  const body: LeaderTransferRequest = { to, transactionMs };
  const timeoutMs = patienceMs + transactionMs;
  const answer = await askAdmin(target, { path: '/api/leader/transfer', body, timeoutMs });
  const { leader, tookMs } = answer as LeaderTransferAnswer;
  say(`${leader} leads, ${tookMs} ms after nobody new was let in.`);
}
