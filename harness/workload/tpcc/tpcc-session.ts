/** One terminal's connection: named prepared statements, one after another, as an application of its own would send them. */
import type { Client } from 'pg';
import { describeError, outcomeOf } from '../sql-outcome.ts';

export type TpccRow = readonly unknown[];

/** Runs a statement, which is prepared the first time. */
export type Ask = (statement: Statement, ...values: readonly unknown[]) => Promise<readonly TpccRow[]>;

export interface Statement {
  readonly name: string;
  readonly text: string;
}

export function statement(name: string, text: string): Statement {
  return { name: `tpcc_${name}`, text };
}

/** Thrown by a transaction that its specification has roll back: it counts as done. */
export class MeantToRollBack extends Error {
  override readonly name = 'MeantToRollBack';
}

/** Nobody was told what became of the transaction. */
export class InDoubt extends Error {
  override readonly name = 'InDoubt';
}

/** In one transaction. `rolledBack`: as it was meant to. @throws InDoubt; pg's errors, with which nothing has happened */
export async function transact(
  client: Client,
  work: (ask: Ask) => Promise<void>,
): Promise<'committed' | 'rolledBack'> {
  const ask: Ask = async ({ name, text }, ...values) => {
    const { rows } = await client.query<unknown[]>({ name, text, values: [...values], rowMode: 'array' });
    return rows;
  };
  await client.query('BEGIN');
  try {
    await work(ask);
  } catch (error) {
    await client.query('ROLLBACK');
    if (error instanceof MeantToRollBack) return 'rolledBack';
    throw error;
  }
  await commit(client);
  return 'committed';
}

async function commit(client: Client): Promise<void> {
  const { command } = await client.query('COMMIT').catch((cause: unknown) => {
    if (outcomeOf(describeError(cause).code, true) === 'fail') throw cause;
    throw new InDoubt('COMMIT was not answered', { cause });
  });
  if (command !== 'COMMIT') throw new Error(`COMMIT was answered with ${command}`);
}

/** The only row that there must be. @throws Error */
export function only(rows: readonly TpccRow[], what: string): TpccRow {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`${rows.length} rows for ${what}`);
  return row;
}
