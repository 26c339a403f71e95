/** The demo's routes to what each replica's PostgreSQL is at. Responsible for: their shapes, and refusals that say what to do. */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { checkShape, requestText } from '../shapes/check-shape.ts';
import type { ActivityReader } from './activity.ts';
import type { Supervisor } from './supervisor.ts';

/** PostgreSQL's own numbers are of 32 bits. */
const endBody = z.strictObject({ pid: z.int32().min(1), how: z.enum(['cancel', 'terminate']) });

export interface ActivityRoutes {
  readonly read: RequestHandler;
  readonly end: RequestHandler;
  readonly countStatements: RequestHandler;
}

/** `reader` null: behind the replicas is no PostgreSQL that could be asked. */
export function createActivityRoutes(
  supervisor: Pick<Supervisor, 'plan'>,
  reader: ActivityReader | null,
): ActivityRoutes {
  const answer =
    (work: (reader: ActivityReader, dir: string, body: unknown) => Promise<object>): RequestHandler =>
    async (request, response) => {
      const id = String(request.params['replica']);
      const plan = supervisor.plan(id);
      if (plan === null) {
        response.status(404).json(refusal('unknownReplica', `There is no replica ${id}.`));
        return;
      }
      if (reader === null) {
        const message = 'This group has a model of PostgreSQL, which keeps no such figures.';
        response.status(409).json(refusal('unavailable', message));
        return;
      }
      try {
        const given = await work(reader, plan.dir, request.body);
        response.status(statusOf(given)).json(given);
      } catch (error) {
        const message = `${id} cannot tell: ${(error as Error).message}. It is asked again.`;
        response.status(503).json(refusal('unavailable', message));
      }
    };
  return {
    read: answer((from, dir) => from.read(dir)),
    end: answer(async (from, dir, given) => {
      const body = checkShape(endBody, given, '(body)');
      if (!body.ok) return refusal('badRequest', requestText(body.problems));
      const isDone = await from.end(dir, body.value);
      const message = `No client's session has the number ${body.value.pid} any more.`;
      return isDone ? { ok: true } : refusal('notFound', message);
    }),
    countStatements: answer(async (from, dir) => {
      const why = await from.countStatements(dir);
      return why === null ? { ok: true } : refusal('unavailable', why);
    }),
  };
}

function statusOf(given: object): number {
  if (!('error' in given)) return 200;
  return (given.error as Refused).code === 'badRequest' ? 400 : 409;
}

interface Refused {
  readonly code: string;
  readonly message: string;
}

function refusal(code: string, message: string): { readonly error: Refused } {
  return { error: { code, message } };
}
