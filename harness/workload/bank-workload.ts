/**
 * Accounts between which money moves, each transfer recorded by its id in the same transaction.
 *
 * With `requestIds` a transfer whose outcome is unknown is sent again under the same request id until the answer is known: then nothing may be lost or done twice.
 */
import type { Random } from './seeded-random.ts';
import { giveUp, type SqlFailure, type SqlSession } from './sql-session.ts';
import type { Workload } from './workload.ts';

const accounts = 8;
const balance = 100;
const amountMax = 20;

interface Transfer {
  readonly id: string;
  readonly from: number;
  readonly to: number;
  readonly amount: number;
}

export interface BankOptions {
  readonly requestIds: boolean;
  /** Both accounts are locked in the order of their ids, so that no two transfers ever wait for each other (40P01). */
  readonly lockInOrder?: boolean;
}

export function bankWorkload({ requestIds, lockInOrder = false }: BankOptions): Workload {
  let made = 0;
  return {
    name: 'bank',
    options: { accounts, balance, requestIds },
    clients: 4,
    readersEverywhere: false,
    hasReads: true,
    pauseMs: 40,
    setup: [
      'CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0))',
      // No primary key: what is done twice shall show.
      'CREATE TABLE transfers (id text NOT NULL, source int NOT NULL, target int NOT NULL, amount bigint NOT NULL)',
      `INSERT INTO accounts SELECT i, ${balance} FROM generate_series(1, ${accounts}) AS i`,
    ],
    next(random, only) {
      if (only === 'read' || random.chance(0.25)) return { f: 'read', asked: null };
      return { f: 'transfer', asked: draw(random, `t${++made}`) };
    },
    async run(session, { f, asked }) {
      if (f === 'read') {
        const { rows } = await session.statement('SELECT id, balance FROM accounts ORDER BY id', [], 'reads');
        return pairs(rows);
      }
      if (f === 'final') return readAll(session);
      await transfer(session, asked as Transfer, { requestIds, lockInOrder });
      return asked;
    },
    returnsNothing: (f) => f === 'transfer',
    finalRequests: () => [{ f: 'final', asked: null }],
  };
}

function draw(random: Random, id: string): Transfer {
  const from = 1 + random.below(accounts);
  const to = 1 + ((from - 1 + 1 + random.below(accounts - 1)) % accounts);
  return { id, from, to, amount: 1 + random.below(amountMax) };
}

function transfer(
  session: SqlSession,
  { id, from, to, amount }: Transfer,
  { requestIds, lockInOrder }: Required<BankOptions>,
): Promise<void> {
  return session.transaction('READ COMMITTED', async (query) => {
    if (requestIds) await query(`SET LOCAL barista.request_id = '${id}'`);
    if (lockInOrder)
      await query('SELECT FROM accounts WHERE id IN ($1, $2) ORDER BY id FOR UPDATE', [from, to]);
    const take = 'UPDATE accounts SET balance = balance - $1 WHERE id = $2 AND balance >= $1';
    const { rowCount } = await query(take, [amount, from]);
    if (rowCount === 0) throw giveUp('notEnough');
    await query('UPDATE accounts SET balance = balance + $1 WHERE id = $2', [amount, to]);
    await query('INSERT INTO transfers VALUES ($1, $2, $3, $4)', [id, from, to, amount]);
  });
}

function readAll(session: SqlSession): Promise<unknown> {
  return session.transaction('REPEATABLE READ', async (query) => {
    const balances = await query('SELECT id, balance FROM accounts ORDER BY id');
    const moves = await query('SELECT id, source, target, amount FROM transfers');
    return {
      balances: pairs(balances.rows),
      transfers: moves.rows.map(([id, from, to, amount]) => ({ id, from, to, amount: Number(amount) })),
    };
  });
}

function pairs(rows: readonly (readonly unknown[])[]): readonly (readonly [number, number])[] {
  return rows.map(([id, each]) => [Number(id), Number(each)]);
}

/** True if the same transfer may be sent again: only under a request id, and only while its outcome is unknown. */
export function mayRepeat(workload: Workload, f: string, failure: SqlFailure): boolean {
  return f === 'transfer' && workload.options.requestIds === true && failure.outcome === 'info';
}
