/** TPC-C on one PostgreSQL, small: what its transactions leave, and whether its conditions notice what they must. */
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startTestPostgres,
  type TestPostgres,
} from '../../../server/src/gateways/pgwire/testing/postgres.ts';
import { Random } from '../seeded-random.ts';
import { brokenConditions, conditionsBrokenIn } from './consistency.ts';
import { loadTpcc } from './load-tpcc.ts';
import { perform, Terminal, type Done } from './terminal.ts';
import { runConstants, TpccRandom, type NurandConstants } from './tpcc-random.ts';

const scale = { warehouses: 2, customers: 40, items: 200 };
const terminals = 4;
const transactionsEach = 120;

let postgres: TestPostgres;
let client: Client;
let loaded: NurandConstants;
beforeAll(async () => {
  postgres = await startTestPostgres();
  client = postgres.superuser;
  loaded = await loadTpcc(client, scale, new Random(1));
});
afterAll(() => postgres.stop());

async function count(what: string): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`SELECT count(*) FROM tpcc.${what}`);
  return Number(rows[0]!.count);
}

async function runTerminal(number: number): Promise<Done[]> {
  const random = new Random(100 + number);
  const warehouse = 1 + (number % scale.warehouses);
  const drawn = new TpccRandom(random, runConstants(new Random(2), loaded));
  const terminal = new Terminal({ scale, drawn, warehouse, district: 1 + number });
  const own = await postgres.connect();
  const done: Done[] = [];
  for (let n = 0; n < transactionsEach; n += 1) done.push(await perform(own, terminal.next()));
  return done;
}

describe('TPC-C', () => {
  it('is loaded with what clause 4.3.3 says, and its conditions hold', async () => {
    expect(await count('district')).toBe(20);
    expect(await count('customer')).toBe(800);
    expect(await count('stock')).toBe(400);
    expect(await count('new_order')).toBe(20 * 12);
    expect(await count('orders WHERE o_carrier_id IS NULL')).toBe(20 * 12);
    expect(await brokenConditions(client)).toEqual([]);
  });

  it('leaves its conditions as they were, whatever terminals do at the same time', async () => {
    const orders = await count('orders');
    const histories = await count('history');
    const waiting = await count('new_order');
    const all = await Promise.all(Array.from({ length: terminals }, (_, number) => runTerminal(number)));
    const done = all.flat();
    const committed = (name: Done['name']): number =>
      done.filter((one) => one.name === name && one.end === 'committed').length;
    expect(done).toHaveLength(terminals * transactionsEach);
    expect((await count('orders')) - orders).toBe(committed('New-Order'));
    expect((await count('history')) - histories).toBe(committed('Payment'));
    const delivered = waiting + committed('New-Order') - (await count('new_order'));
    expect(delivered).toBeGreaterThan(0);
    expect(delivered).toBeLessThanOrEqual(10 * committed('Delivery'));
    expect(done.some(({ end }) => end === 'rolledBack')).toBe(true);
    expect(await brokenConditions(client)).toEqual([]);
  });

  it.each([
    [1, 'UPDATE tpcc.district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 1'],
    [2, 'UPDATE tpcc.district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 2 AND d_id = 3'],
    [
      3,
      'DELETE FROM tpcc.new_order WHERE (no_w_id, no_d_id, no_o_id) = (SELECT no_w_id, no_d_id, no_o_id FROM tpcc.new_order WHERE no_w_id = 1 AND no_d_id = 1 ORDER BY no_o_id OFFSET 1 LIMIT 1)',
    ],
    [4, 'UPDATE tpcc.orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1'],
    [5, 'UPDATE tpcc.orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1'],
    [6, 'DELETE FROM tpcc.order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 2 AND ol_number = 1'],
    [7, 'UPDATE tpcc.order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1'],
    [8, 'UPDATE tpcc.history SET h_w_id = 3 - h_w_id WHERE ctid = (SELECT ctid FROM tpcc.history LIMIT 1)'],
    [
      9,
      'UPDATE tpcc.history SET h_d_id = 1 + h_d_id % 10 WHERE ctid = (SELECT ctid FROM tpcc.history LIMIT 1)',
    ],
    [
      10,
      'UPDATE tpcc.customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1',
    ],
    [
      12,
      'UPDATE tpcc.customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1',
    ],
  ])('has a condition %i that notices what breaks it', async (number, damage) => {
    const broken = await postgres.connect();
    await broken.query('BEGIN');
    await broken.query(damage);
    const lines = await conditionsBrokenIn(broken);
    await broken.query('ROLLBACK');
    expect(lines.filter((line) => line.startsWith(`condition ${number},`))).toHaveLength(1);
  });
});
