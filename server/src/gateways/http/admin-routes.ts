/**
 * What operators ask of a replica over HTTP: changes of the members, comparisons, backups.
 *
 * Responsible for: that only operators ask (operator-access.ts), from anywhere; the shape of requests, and status codes. Carries out nothing.
 * Invariants: nothing is read of a request before whoever sent it is known to be an operator; a backup that breaks off does not look like a whole one.
 */
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Logger } from 'pino';
import { z } from 'zod';
import type {
  AdminRefusal,
  LeaderTransferAnswer,
  LeaderTransferRequest,
  MembersAnswer,
  MembersRequest,
  SessionEndAnswer,
  SessionEndRequest,
  VerifyRequest,
  VerifyResult,
} from '../../api/status.ts';
import { checkShape, requestText } from '../../shapes/check-shape.ts';
import { hostShape } from '../../shapes/host-shape.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { type OperatorAccess, requireOperator } from './operator-access.ts';

export type AdminAnswer<T> =
  | { readonly ok: true; readonly answer: T }
  | { readonly ok: false; readonly error: AdminRefusal['error'] };

export interface HttpAdmin {
  members(request: MembersRequest): Promise<AdminAnswer<MembersAnswer>>;
  verify(request: VerifyRequest): Promise<AdminAnswer<VerifyResult>>;
  transferLeadership(request: LeaderTransferRequest): Promise<AdminAnswer<LeaderTransferAnswer>>;
  endSession(request: SessionEndRequest): Promise<AdminAnswer<SessionEndAnswer>>;
  /** The bytes of a backup file. Destroyed if whoever asked for it goes away. */
  backup(): Promise<AdminAnswer<Readable>>;
}

const statusOf: Readonly<Record<AdminRefusal['error']['code'], number>> = {
  unauthorized: 401,
  badRequest: 400,
  notLeader: 409,
  busy: 409,
  wouldLoseQuorum: 409,
  unknownReplica: 409,
  exists: 409,
  tooMany: 409,
  timedOut: 409,
  noSuccessor: 409,
  unavailable: 503,
  failed: 500,
};

/** As in the configuration: the dot is for the names of incarnations. */
const replica = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/)
  .describe('a name of at most 32 letters, digits, "_" or "-", a letter first')
  .transform((id) => id as ReplicaId);
const place = { host: hostShape, port: z.int().min(1).max(65_535) };
const membersBody = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('add'),
    replica,
    address: z.strictObject({ ...place, pgwire: z.strictObject(place) }),
  }),
  z.strictObject({ action: z.literal('remove'), replica }),
]);
const verifyBody = z.strictObject({ repair: z.boolean().default(false) });

const sessionBody = z.strictObject({ pid: z.int().min(1).max(2_147_483_647) });

/** Open transactions have a second to end, unless somebody says otherwise. */
const transferBody = z.strictObject({
  to: replica.nullable().default(null),
  transactionMs: z.int().min(0).max(60_000).default(1000),
});

export function adminRoutes(admin: HttpAdmin, access: OperatorAccess, logger: Logger): Router {
  const router = Router();
  const allowed = requireOperator(access);
  const json = express.json({ limit: '16kb' });
  router.post(
    '/api/members',
    allowed,
    json,
    carryOut(async (request, response) => {
      const body = read(membersBody, request.body, response);
      if (body === null) return;
      logger.warn({ request: body }, 'a change of the members was asked for');
      answer(response, await admin.members(body));
    }),
  );
  router.post(
    '/api/verify',
    allowed,
    json,
    carryOut(async (request, response) => {
      const body = read(verifyBody, request.body ?? {}, response);
      if (body === null) return;
      logger.info({ request: body }, 'a comparison of the data was asked for');
      answer(response, await admin.verify(body));
    }),
  );
  router.post(
    '/api/leader/transfer',
    allowed,
    json,
    carryOut(async (request, response) => {
      const body = read(transferBody, request.body ?? {}, response);
      if (body === null) return;
      logger.warn({ request: body }, 'a hand-over of leadership was asked for');
      answer(response, await admin.transferLeadership(body));
    }),
  );
  router.post(
    '/api/sessions/end',
    allowed,
    json,
    carryOut(async (request, response) => {
      const body = read(sessionBody, request.body, response);
      if (body === null) return;
      logger.warn({ request: body }, 'the end of a session was asked for');
      answer(response, await admin.endSession(body));
    }),
  );
  router.get(
    '/api/backup',
    allowed,
    carryOut(async (_request, response) => {
      const backup = await admin.backup();
      if (!backup.ok) answer(response, backup);
      else await send(backup.answer, response, logger);
    }),
  );
  return router;
}

function carryOut(work: (request: Request, response: Response) => Promise<void>): RequestHandler {
  return (request, response, next) => {
    const carry = async (): Promise<void> => {
      try {
        await work(request, response);
      } catch (error) {
        next(error);
      }
    };
    void carry();
  };
}

function read<T>(shape: z.ZodType<T>, body: unknown, response: Response): T | null {
  const checked = checkShape(shape, body, '(body)');
  if (checked.ok) return checked.value;
  refuse(response, { code: 'badRequest', message: requestText(checked.problems) });
  return null;
}

function answer<T>(response: Response, outcome: AdminAnswer<T>): void {
  if (outcome.ok) response.json(outcome.answer);
  else refuse(response, outcome.error);
}

function refuse(response: Response, error: AdminRefusal['error']): void {
  response.status(statusOf[error.code]).json({ error } satisfies AdminRefusal);
}

/** Without a length: a connection that ends before the last chunk tells the other side that it is not whole. */
async function send(backup: Readable, response: Response, logger: Logger): Promise<void> {
  response.type('application/octet-stream');
  try {
    await pipeline(backup, response);
  } catch (error) {
    logger.warn({ err: error }, 'a backup ended early');
    response.destroy();
  }
}
