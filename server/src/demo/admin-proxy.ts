/**
 * The demo's part in what operators ask: it knows the secret and where the replicas are, so the page and the command line need neither.
 *
 * Responsible for: choosing the replica to ask, going on to the leader that it names, and passing its answer through. Judges nothing.
 * Invariants: of each kind of request one at a time, so that none waits for another kind: a comparison may take half an hour; a backup for who knows the secret; a backup that its reader gives up is given up at its source.
 */
import { request as httpRequest } from 'node:http';
import type { RequestHandler, Response } from 'express';
import { z } from 'zod';
import type { AdminRefusal } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { adminToken, bearer } from '../main/admin-token.ts';
import { createOperatorAccess, requireOperator } from '../gateways/http/operator-access.ts';
import { checkShape, requestText } from '../shapes/check-shape.ts';
import { freshMs } from './cluster-report.ts';
import { requestJson } from './http-client.ts';
import { demoHost, type ReplicaPlan } from './layout.ts';
import type { Supervisor } from './supervisor.ts';

const hopsMax = 3;
const membersMs = 30_000;
const verifyMs = 31 * 60_000;
/** The longest that transactions may be given, and what an election and a promotion may take. */
const transferMs = 85_000;

const name = z.string().max(64);
const endpoint = { host: z.string().min(1).max(255), port: z.int().min(1).max(65_535) };
const membersBody = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('add'),
    replica: name,
    address: z.strictObject({ ...endpoint, pgwire: z.strictObject(endpoint) }),
  }),
  z.strictObject({ action: z.literal('remove'), replica: name }),
]);
const verifyBody = z.strictObject({ repair: z.boolean().default(false) });

const transferBody = z.strictObject({
  to: name.nullable().default(null),
  transactionMs: z.int().min(0).max(60_000).default(1000),
});

const sessionBody = z.strictObject({ pid: z.int().min(1).max(2_147_483_647) });

type Known = Pick<Supervisor, 'cluster' | 'plan'>;

export interface AdminProxyOptions {
  readonly supervisor: Known;
  readonly clusterSecret: string;
}

export interface AdminProxy {
  readonly members: RequestHandler;
  readonly verify: RequestHandler;
  readonly transferLeadership: RequestHandler;
  /** Of the leader's PostgreSQL. */
  readonly endSession: RequestHandler;
  /** It is the whole database, passwords and all: not for whoever else is on this machine. */
  readonly backup: RequestHandler[];
}

export function createAdminProxy({ supervisor, clusterSecret }: AdminProxyOptions): AdminProxy {
  const headers = bearer(clusterSecret);
  const token = adminToken(clusterSecret);
  const access = createOperatorAccess({ tokens: () => [token] });
  let backingUp = false;

  /** Asks the leader, and whoever is named instead. */
  const askLeader = async (
    path: string,
    body: unknown,
    timeoutMs: number,
    response: Response,
  ): Promise<void> => {
    let plan = leaderOf(supervisor);
    for (let hop = 1; plan !== null; hop += 1) {
      const { httpPort: port, id } = plan;
      const answer = await requestJson({ port, path, method: 'POST', body, headers, timeoutMs }).catch(
        (error: Error) => ({
          status: 503,
          body: refusal('unavailable', `${id} does not answer: ${error.message}`),
        }),
      );
      const next = hop < hopsMax ? leaderNamed(supervisor, answer.body, plan.id) : null;
      if (next === null) {
        response
          .status(answer.status)
          .json(answer.body ?? refusal('failed', `${id} gave no sensible answer.`));
        return;
      }
      plan = next;
    }
    response.status(503).json(refusal('unavailable', 'No leader is known. Try again in a moment.'));
  };
  const toLeader = (path: string, schema: z.ZodType, timeoutMs: number): RequestHandler => {
    let busy = false;
    return async (request, response) => {
      const body = checkShape(schema, request.body, '(body)');
      if (!body.ok) {
        response.status(400).json(refusal('badRequest', requestText(body.problems)));
        return;
      }
      if (busy) {
        response.status(409).json(refusal('busy', 'Another request of this kind is under way.'));
        return;
      }
      busy = true;
      try {
        await askLeader(path, body.value, timeoutMs, response);
      } finally {
        busy = false;
      }
    };
  };

  const passBackup: RequestHandler = async (_request, response) => {
    const plan = backupSource(supervisor);
    if (plan === null || backingUp) {
      const message = backingUp
        ? 'Another backup is being taken.'
        : 'No replica serves. One that is left without a majority can be asked by its configuration (--config).';
      response.status(503).json(refusal('unavailable', message));
      return;
    }
    backingUp = true;
    try {
      await passThrough(plan, headers, response);
    } finally {
      backingUp = false;
    }
  };
  return {
    members: toLeader('/api/members', membersBody, membersMs),
    transferLeadership: toLeader('/api/leader/transfer', transferBody, transferMs),
    endSession: toLeader('/api/sessions/end', sessionBody, transferMs),
    verify: toLeader('/api/verify', verifyBody, verifyMs),
    backup: [requireOperator(access), passBackup],
  };
}

function refusal(code: AdminRefusal['error']['code'], message: string): AdminRefusal {
  return { error: { code, message } };
}

function serving(supervisor: Known): readonly { readonly id: ReplicaId; readonly leads: boolean }[] {
  return supervisor.cluster().flatMap(({ id, process, status, ageMs }) => {
    const fresh = process === 'running' && (ageMs ?? Infinity) <= freshMs;
    return fresh && status?.state === 'serving' ? [{ id, leads: status.role === 'leader' }] : [];
  });
}

function leaderOf(supervisor: Known): ReplicaPlan | null {
  const leader = serving(supervisor).find(({ leads }) => leads);
  return leader === undefined ? null : supervisor.plan(leader.id);
}

/** A follower rather than the leader, which has clients to serve. */
function backupSource(supervisor: Known): ReplicaPlan | null {
  const all = serving(supervisor);
  const source = all.find(({ leads }) => !leads) ?? all[0];
  return source === undefined ? null : supervisor.plan(source.id);
}

function leaderNamed(supervisor: Known, body: unknown, asked: ReplicaId): ReplicaPlan | null {
  const error = (body as Partial<AdminRefusal> | null | undefined)?.error;
  if (error?.code !== 'notLeader' || !error.leader || error.leader === asked) return null;
  return supervisor.plan(error.leader);
}

function passThrough(
  { httpPort: port, id }: ReplicaPlan,
  headers: Readonly<Record<string, string>>,
  response: Response,
): Promise<void> {
  return new Promise((resolve) => {
    const outgoing = httpRequest({ host: demoHost, port, path: '/api/backup', headers }, (answer) => {
      response.status(answer.statusCode ?? 502);
      response.setHeader('content-type', answer.headers['content-type'] ?? 'application/octet-stream');
      // Cut off here when cut off there: its reader must not take it for whole.
      answer.once('close', () => {
        if (!answer.complete) response.destroy();
      });
      answer.pipe(response);
    });
    outgoing.once('error', (error) => {
      if (response.headersSent) response.destroy();
      else response.status(503).json(refusal('unavailable', `${id} does not answer: ${error.message}`));
    });
    response.once('close', () => {
      outgoing.destroy();
      resolve();
    });
    outgoing.end();
  });
}
