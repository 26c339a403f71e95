/**
 * Terminals of TPC-C that go on through the death of whoever serves them: each connects again, at the next port, and draws its next transaction.
 *
 * Responsible for: knowing of each transaction whether it was committed, was not, or is in doubt.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Random } from '../seeded-random.ts';
import { describeError } from '../sql-outcome.ts';
import { perform, Terminal, type TransactionName } from './terminal.ts';
import { runConstants, TpccRandom, type NurandConstants } from './tpcc-random.ts';
import { districtsPerWarehouse, type TpccScale } from './tpcc-scale.ts';
import { InDoubt } from './tpcc-session.ts';

export interface LastingOptions {
  readonly ports: readonly number[];
  readonly terminals: number;
  readonly scale: TpccScale;
  readonly loaded: NurandConstants;
  readonly seed: number;
}

export interface LastingResult {
  readonly committed: ReadonlyMap<TransactionName, number>;
  /** Of these nobody was told. */
  readonly inDoubt: ReadonlyMap<TransactionName, number>;
  readonly connections: number;
  /** Errors that no death explains. */
  readonly unexpected: readonly string[];
}

export interface LastingTerminals {
  /** Each ends the transaction that it is in. */
  stop(): Promise<LastingResult>;
}

const account = { host: '127.0.0.1', user: 'barista', password: 'barista', database: 'barista' };
const connectMs = 3000;
/** Whatever takes longer is given up, with its connection. */
const statementMs = 8000;
const againMs = 50;
/** What a session ends with, or is refused, when whoever serves it dies or leads no more: SQLSTATEs of these classes, errors of the connection, and a wait that was given up. */
const mayEnd = /^(08|25|40|53|57)|^E[A-Z]+$|^(connectionLost|timeout)$/;

export function startTerminals(options: LastingOptions): LastingTerminals {
  const { ports, terminals, scale, loaded, seed } = options;
  const constants = runConstants(new Random(seed), loaded);
  const committed = new Map<TransactionName, number>();
  const inDoubt = new Map<TransactionName, number>();
  const count = (of: Map<TransactionName, number>, name: TransactionName): unknown =>
    of.set(name, (of.get(name) ?? 0) + 1);
  let connections = 0;
  const over = new AbortController();
  const unexpected = new Set<string>();

  async function runAt(port: number, terminal: Terminal): Promise<void> {
    const client = new pg.Client({
      ...account,
      port,
      connectionTimeoutMillis: connectMs,
      query_timeout: statementMs,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      connections += 1;
      while (!over.signal.aborted) {
        const task = terminal.next();
        const done = await perform(client, task).catch((error: unknown) => {
          if (error instanceof InDoubt) count(inDoubt, task.name);
          throw error;
        });
        if (done.end === 'committed') count(committed, task.name);
      }
    } finally {
      client.end().catch(() => undefined);
    }
  }

  async function run(number: number): Promise<void> {
    const warehouse = 1 + (number % scale.warehouses);
    const district = 1 + (number % districtsPerWarehouse);
    const drawn = new TpccRandom(new Random(seed + 1 + number), constants);
    const terminal = new Terminal({ scale, drawn, warehouse, district });
    for (let attempt = number; !over.signal.aborted; attempt += 1) {
      await runAt(ports[attempt % ports.length]!, terminal).catch((error: unknown) => {
        const { code, message } = describeError(error);
        if (!(error instanceof InDoubt) && !mayEnd.test(code)) unexpected.add(`${code} ${message}`);
        return sleep(againMs);
      });
    }
  }

  const running = Array.from({ length: terminals }, (_, number) => run(number));
  return {
    async stop() {
      over.abort();
      await Promise.all(running);
      return { committed, inDoubt, connections, unexpected: [...unexpected] };
    },
  };
}
