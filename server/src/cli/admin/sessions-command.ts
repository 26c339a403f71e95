/** `barista sessions end`: ends the session of a client, whatever it holds. */
import type { SessionEndAnswer, SessionEndRequest } from '../../api/status.ts';
import { type AdminTarget, askAdmin } from './admin-client.ts';

const patienceMs = 15_000;

/** @throws CliError */
export async function runEndSession(
  target: AdminTarget,
  pid: number,
  say: (line: string) => void,
): Promise<void> {
  const body: SessionEndRequest = { pid };
  const answer = await askAdmin(target, { path: '/api/sessions/end', body, timeoutMs: patienceMs });
  say(`Session ${(answer as SessionEndAnswer).pid} was told to end; its open transaction is rolled back.`);
}
