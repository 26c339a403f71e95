/** A replica's PostgreSQL with its executor, for tests; and what hands operations to several of them. */
import { createHash } from 'node:crypto';
import { systemClock } from '../../../adapters/system-clock.ts';
import { openStatementDatabase } from '../../../adapters/postgres/statements/own-database.ts';
import { startTestPostgres, type TestPostgres } from '../../../gateways/pgwire/testing/postgres.ts';
import type { Slot } from '../../../multipaxos/types/names.ts';
import { query } from '../../../pgwire/frontend-messages.ts';
import type { OperationResult, StartOutcome } from '../executor.ts';
import type { OpenOperation, Operation, RequestOperation, RequestWord } from '../operation.ts';
import { statementSettings } from '../statement-settings.ts';
import { SerialExecutor } from '../serial-executor.ts';

export const secret = 'a secret of the group';
export const answerBytesMax = 256 * 1024;

export interface StatementReplica {
  readonly postgres: TestPostgres;
  readonly executor: SerialExecutor;
  readonly started: StartOutcome;
  /** Results by slot. */
  readonly results: Map<number, OperationResult>;
  /** The slots in the order in which they took effect. */
  readonly order: number[];
  /** Where each took effect, by its own slot. */
  readonly tookEffect: Map<number, number>;
  readonly notified: Buffer[];
  onRest: (slot: Slot) => Promise<void>;
}

export async function startReplica(
  postgres: TestPostgres,
  options: { readonly isAfterCrash?: boolean } = {},
): Promise<StatementReplica> {
  const results = new Map<number, OperationResult>();
  const order: number[] = [];
  const tookEffect = new Map<number, number>();
  const notified: Buffer[] = [];
  const database = await openStatementDatabase({
    socketDir: postgres.socketDir,
    secret,
    messageBytesMax: answerBytesMax,
    isAfterCrash: options.isAfterCrash ?? false,
  });
  const executor = new SerialExecutor({
    database,
    timers: systemClock,
    answerBytesMax,
    sessionsMax: 50,
    listener: {
      finished(slot, _operation, result, at) {
        tookEffect.set(slot, at);
        results.set(slot, result);
        order.push(slot);
      },
      atRest: (slot) => replica.onRest(slot),
      notified: (_session, message) => notified.push(message),
    },
  });
  const replica: StatementReplica = {
    postgres,
    executor,
    started: await executor.start(),
    results,
    order,
    tookEffect,
    notified,
    onRest: () => Promise.resolve(),
  };
  return replica;
}

export const startStatementPostgres = (
  settings: Readonly<Record<string, string>> = {},
): Promise<TestPostgres> => startTestPostgres({ ...statementSettings, ...settings });

/** Hands the same operations to all replicas. */
export class OperationFeed {
  readonly log: Operation[] = [];
  private readonly replicas: readonly StatementReplica[];
  private readonly seqs = new Map<string, number>();

  constructor(replicas: readonly StatementReplica[]) {
    this.replicas = replicas;
    const [first] = replicas;
    for (let slot = 0; slot < (first?.executor.pointer ?? 0); slot += 1)
      this.log.push({ kind: 'close', session: '' });
  }

  async add(operation: Operation): Promise<number> {
    this.log.push(operation);
    const slot = this.log.length;
    await Promise.all(this.replicas.map(({ executor }) => executor.execute(slot as Slot, operation)));
    return slot;
  }

  /** What it came to at the first replica; undefined: it waits. */
  async result(operation: Operation): Promise<OperationResult | undefined> {
    const slot = await this.add(operation);
    return this.replicas[0]?.results.get(slot);
  }

  async open(name: string, user = 'barista', database = 'barista'): Promise<OperationResult | undefined> {
    return this.result({
      ...openOf(name),
      user,
      database,
      parameters: [['client_encoding', 'UTF8']],
    });
  }

  requestOf(name: string, bytes: Uint8Array, what: RequestWord = 'execute'): Operation {
    const seq = (this.seqs.get(name) ?? 0) + 1;
    this.seqs.set(name, seq);
    return requestOf(name, seq, bytes, what);
  }

  send(name: string, bytes: Uint8Array): Promise<OperationResult | undefined> {
    return this.result(this.requestOf(name, bytes));
  }

  /** A Query: the answer in words. */
  async sql(name: string, sql: string): Promise<string> {
    const what = /^\s*begin/i.test(sql) ? 'begin' : 'execute';
    const result = await this.result(this.requestOf(name, query(sql), what));
    return result === undefined ? 'waits' : words(result.answer);
  }
}

export function openOf(name: string): OpenOperation {
  return {
    kind: 'open',
    session: sessionOf(name),
    user: 'barista',
    database: 'barista',
    parameters: [],
    clockUs: 0,
  };
}

export function requestOf(
  name: string,
  seq: number,
  bytes: Uint8Array,
  what: RequestWord = 'execute',
): RequestOperation {
  return { kind: 'request', session: sessionOf(name), seq, what, bytes, clockUs: 0, seed: Buffer.alloc(16) };
}

/** Queries of sessions, each with its next number. */
export function queries(): (name: string, text: string) => RequestOperation {
  const seqs = new Map<string, number>();
  return (name, text) => {
    const seq = (seqs.get(name) ?? 0) + 1;
    seqs.set(name, seq);
    return requestOf(name, seq, query(text), text === 'BEGIN' ? 'begin' : 'execute');
  };
}

export function sessionOf(name: string): string {
  return createHash('md5').update(name).digest('hex');
}

/** Tags, first columns, SQLSTATEs and the status, for people. */
export function words(answer: Buffer): string {
  const out: string[] = [];
  let at = 0;
  while (at < answer.length) {
    const length = answer.readInt32BE(at + 1) + 1;
    const type = answer.toString('latin1', at, at + 1);
    const body = answer.subarray(at + 5, at + length);
    if (type === 'C') out.push(body.toString('latin1', 0, body.length - 1));
    if (type === 'D') {
      const bytes = body.length > 2 ? body.readInt32BE(2) : -1;
      out.push(bytes < 0 ? 'null' : `(${body.toString('utf8', 6, 6 + bytes)})`);
    }
    if (type === 'E') out.push(`!${/\0C([^\0]*)/.exec(body.toString('latin1'))?.[1] ?? ''}`);
    if (type === 'Z') out.push(body.toString('latin1'));
    at += length;
  }
  return out.join(' ');
}
