/** `barista leader transfer`: asks the leader to have another replica lead, and says who does, and serves clients. */
import type { LeaderTransferAnswer, LeaderTransferRequest } from '../../api/status.ts';
import type { TransferArguments } from '../program-admin.ts';
import { type AdminTarget, askAdmin } from './admin-client.ts';

/** The replica itself waits some seconds for the next leader, and some more until that serves, besides what transactions are given. */
const patienceMs = 25_000;
/** Whoever waits longer hears for what. */
const quietMs = 3_000;

/** @throws CliError */
export async function runTransfer(
  target: AdminTarget,
  { to, transactionMs }: TransferArguments,
  say: (line: string) => void,
): Promise<void> {
  const body: LeaderTransferRequest = { to, transactionMs };
  const timeoutMs = patienceMs + transactionMs;
  const waiting = setTimeout(
    () => say('Still waiting until another replica is elected, and its PostgreSQL is promoted ...'),
    quietMs + transactionMs,
  );
  try {
    const answer = await askAdmin(target, { path: '/api/leader/transfer', body, timeoutMs });
    const { leader, tookMs } = answer as LeaderTransferAnswer;
    say(`${leader} leads and serves clients. New clients had to wait for ${tookMs} ms.`);
  } finally {
    clearTimeout(waiting);
  }
}
