/**
 * The demo's `GET /api/log/SLOT`: asks one replica after the other what the slot holds.
 *
 * Responsible for: the order, followers before the leader, which has clients to serve. Passes answers through.
 * Invariant: one that does not answer costs at most `timeoutMs`.
 */
import type { RequestHandler } from 'express';
import type { SlotRefusal } from '../api/wal-summary.ts';
import { notASlot, parseSlot } from '../gateways/http/log-routes.ts';
import { freshMs } from './cluster-report.ts';
import { requestJson, type JsonAnswer } from './http-client.ts';
import type { Supervisor } from './supervisor.ts';

const timeoutMs = 3_000;
const refused: SlotRefusal = { error: { code: 'unavailable', message: 'No replica answers.' } };

export function createLogProxy(
  supervisor: Pick<Supervisor, 'cluster' | 'plan'>,
): RequestHandler<{ slot: string }> {
  return async (request, response) => {
    const slot = parseSlot(request.params.slot);
    const answer =
      slot === null ? { status: 400, body: notASlot } : await ask(supervisor, `/api/log/${slot}`);
    response.status(answer.status).json(answer.body);
  };
}

/** The first good answer; else why the last one that answered has none. */
async function ask(supervisor: Pick<Supervisor, 'cluster' | 'plan'>, path: string): Promise<JsonAnswer> {
  let answered: JsonAnswer = { status: 503, body: refused };
  for (const port of portsOf(supervisor)) {
    const answer = await requestJson({ port, path, timeoutMs }).catch(() => null);
    if (answer === null || answer.body === undefined) continue;
    if (answer.status === 200) return answer;
    answered = answer;
  }
  return answered;
}

function portsOf(supervisor: Pick<Supervisor, 'cluster' | 'plan'>): readonly number[] {
  const up = supervisor
    .cluster()
    .filter(({ process, ageMs }) => process === 'running' && (ageMs ?? Infinity) <= freshMs);
  const rank = (role: string | undefined): number => (role === 'leader' ? 1 : 0);
  const order = up.toSorted((a, b) => rank(a.status?.role) - rank(b.status?.role));
  return order.flatMap(({ id }) => supervisor.plan(id)?.httpPort ?? []);
}
