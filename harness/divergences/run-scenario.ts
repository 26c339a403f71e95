/**
 * Runs one scenario against a system and says what is not as it must be.
 *
 * Responsible for: the sessions, the order of the steps, and the questions to every replica. A complaint names the step or the replica; an empty list means that all is well.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { untilSettled } from '../bench/compare/arrival.ts';
import type { System } from '../bench/compare/systems/system.ts';
import { openSql, querySql, type SqlTarget } from '../bench/sql.ts';
import type { Rows, Scenario, Shown, Step } from './scenario.ts';

/** A step that takes longer than this hangs. */
const stepMsMax = 60_000;
/** A replica that has not applied everything by then has stopped. */
const arrivalMsMax = 60_000;

interface Session {
  readonly client: pg.Client;
  /** The answer of a step that was started and not waited for. */
  pending: Promise<Answer> | null;
}

type Answer =
  | { readonly kind: 'rows'; readonly rows: Rows }
  | { readonly kind: 'error'; readonly sqlState: string; readonly message: string };

export async function runScenario(
  system: System,
  scenario: Scenario,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const target = await system.client();
  await querySql(target, `DROP SCHEMA IF EXISTS ${scenario.name} CASCADE`, `CREATE SCHEMA ${scenario.name}`);
  const sessions = new Map<string, Session>();
  try {
    for (const [index, step] of scenario.steps.entries()) {
      const complaint = await take(step, sessions, target, scenario.name);
      if (complaint !== null) return [`step ${index + 1}: ${complaint}`];
    }
  } finally {
    for (const { client } of sessions.values()) await client.end().catch(() => undefined);
  }
  const arrival = AbortSignal.any([signal, AbortSignal.timeout(arrivalMsMax)]);
  try {
    await untilSettled(system, arrival);
  } catch (error) {
    signal.throwIfAborted();
    return [`not every replica had it within ${arrivalMsMax} ms: ${(error as Error).message}`];
  }
  return shownEverywhere(await system.databases(), scenario);
}

async function take(
  step: Step,
  sessions: Map<string, Session>,
  target: SqlTarget,
  schema: string,
): Promise<string | null> {
  const session = sessions.get(step.session) ?? (await openSession(target, schema));
  sessions.set(step.session, session);
  if ('leave' in step) {
    sessions.delete(step.session);
    await session.client.end().catch(() => undefined);
    return null;
  }
  if ('start' in step) {
    session.pending = send(session.client, step.start);
    return null;
  }
  const pending = 'run' in step ? send(session.client, step.run) : session.pending;
  if (pending === null) return `session ${step.session} has nothing to finish`;
  session.pending = null;
  const answer = await inTime(pending);
  const wanted = step.fails ?? null;
  const text = 'run' in step ? step.run.slice(0, 120) : 'what was started';
  if (answer.kind === 'error') {
    return answer.sqlState === wanted ? null : `${text}: ${answer.sqlState} ${answer.message}`;
  }
  if (wanted !== null) return `${text}: was not refused with ${wanted}`;
  if ('run' in step && step.gives !== undefined && !same(answer.rows, step.gives)) {
    return `${text}: gave ${JSON.stringify(answer.rows)} instead of ${JSON.stringify(step.gives)}`;
  }
  return null;
}

async function openSession(target: SqlTarget, schema: string): Promise<Session> {
  const client = await openSql(target);
  await client.query(`SET search_path = ${schema}, public`);
  return { client, pending: null };
}

/** By the simple protocol, in which one text may hold several statements. Never rejects. */
async function send(client: pg.Client, text: string): Promise<Answer> {
  try {
    return { kind: 'rows', rows: rowsOf(await client.query({ text, rowMode: 'array', types: asText })) };
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    return { kind: 'error', sqlState: code ?? 'connection', message };
  }
}

/** Fields stay as PostgreSQL writes them. */
const asText = { getTypeParser: () => (value: string) => value };

/** Of the last statement. For several statements there are several results. */
function rowsOf(result: pg.QueryArrayResult | readonly pg.QueryArrayResult[]): Rows {
  const last = Array.isArray(result) ? (result.at(-1) as pg.QueryArrayResult | undefined) : result;
  return ((last as pg.QueryArrayResult | undefined)?.rows ?? []) as Rows;
}

async function inTime(answer: Promise<Answer>): Promise<Answer> {
  const over = new AbortController();
  const late = sleep(stepMsMax, null, { signal: over.signal }).catch(() => null);
  const first = await Promise.race([answer, late]);
  over.abort();
  return first ?? { kind: 'error', sqlState: 'timeout', message: `no answer within ${stepMsMax} ms` };
}

async function shownEverywhere(
  databases: readonly SqlTarget[],
  scenario: Scenario,
): Promise<readonly string[]> {
  const complaints: string[] = [];
  for (const database of databases) {
    const client = await openSql(database);
    try {
      await client.query(`SET search_path = ${scenario.name}, public`);
      for (const shown of scenario.shows) {
        const complaint = await compare(client, shown);
        if (complaint !== null) complaints.push(`${database.host}: ${complaint}`);
      }
    } finally {
      await client.end();
    }
  }
  return complaints;
}

async function compare(client: pg.Client, { query, rows }: Shown): Promise<string | null> {
  const answer = await send(client, query);
  if (answer.kind === 'error') return `${query}: ${answer.sqlState} ${answer.message}`;
  if (same(answer.rows, rows)) return null;
  return `${query}: ${JSON.stringify(answer.rows)} instead of ${JSON.stringify(rows)}`;
}

function same(one: Rows, other: Rows): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
