/**
 * The consistency conditions of TPC-C (clause 3.3.2), as queries that find what breaks one. They hold after any number of transactions, whoever died meanwhile.
 *
 * Condition 11 is of the first population only: it follows from 5, with the orders that the load delivers.
 */
import type { Client } from 'pg';

interface Condition {
  readonly number: number;
  readonly says: string;
  /** Its rows break it. */
  readonly broken: string;
}

const paidPerDistrict = `SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM tpcc.history GROUP BY h_w_id, h_d_id`;
const deliveredPerCustomer = `SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered FROM tpcc.orders
  JOIN tpcc.order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id`;
const ofCustomer = 'o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id';
const linesPerOrder =
  'SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS lines FROM tpcc.order_line GROUP BY ol_w_id, ol_d_id, ol_o_id';

export const conditions: readonly Condition[] = [
  {
    number: 1,
    says: 'a warehouse has taken what its districts have',
    broken: `SELECT w_id FROM tpcc.warehouse JOIN (SELECT d_w_id, sum(d_ytd) AS taken FROM tpcc.district GROUP BY d_w_id) AS districts ON d_w_id = w_id
      WHERE w_ytd <> taken`,
  },
  {
    number: 2,
    says: 'the next order of a district is the one behind the last, which is the last that waits, if any does',
    broken: `SELECT d_w_id, d_id FROM tpcc.district
      WHERE d_next_o_id - 1 <> (SELECT max(o_id) FROM tpcc.orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
         OR d_next_o_id - 1 <> (SELECT max(no_o_id) FROM tpcc.new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)`,
  },
  {
    number: 3,
    says: 'the orders of a district that wait follow each other',
    broken: `SELECT no_w_id, no_d_id FROM tpcc.new_order GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)`,
  },
  {
    number: 4,
    says: 'a district has as many lines as its orders say',
    broken: `SELECT o_w_id, o_d_id FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS said FROM tpcc.orders GROUP BY o_w_id, o_d_id) AS orders
      FULL JOIN (SELECT ol_w_id, ol_d_id, count(*) AS lines FROM tpcc.order_line GROUP BY ol_w_id, ol_d_id) AS lines ON ol_w_id = o_w_id AND ol_d_id = o_d_id
      WHERE said IS DISTINCT FROM lines`,
  },
  {
    number: 5,
    says: 'an order waits as long as it has no carrier',
    broken: `SELECT o_w_id, o_d_id, o_id FROM tpcc.orders FULL JOIN tpcc.new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
      WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL) OR o_id IS NULL`,
  },
  {
    number: 6,
    says: 'an order has as many lines as it says',
    broken: `SELECT o_w_id, o_d_id, o_id FROM tpcc.orders FULL JOIN (${linesPerOrder}) AS counted ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
      WHERE o_ol_cnt IS DISTINCT FROM lines`,
  },
  {
    number: 7,
    says: 'a line is delivered when its order has a carrier',
    broken: `SELECT o_w_id, o_d_id, o_id FROM tpcc.orders JOIN tpcc.order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
      WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)`,
  },
  {
    number: 8,
    says: 'a warehouse has taken what was paid to it',
    broken: `SELECT w_id FROM tpcc.warehouse JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM tpcc.history GROUP BY h_w_id) AS payments ON h_w_id = w_id
      WHERE w_ytd <> paid`,
  },
  {
    number: 9,
    says: 'a district has taken what was paid to it',
    broken: `SELECT d_w_id, d_id FROM tpcc.district JOIN (${paidPerDistrict}) AS payments ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd <> paid`,
  },
  {
    number: 10,
    says: 'a customer owes what was delivered and not paid',
    broken: `SELECT c_w_id, c_d_id, c_id FROM tpcc.customer LEFT JOIN (${deliveredPerCustomer}) AS deliveries ON ${ofCustomer}
      JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM tpcc.history GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS payments
        ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
      WHERE c_balance <> coalesce(delivered, 0) - paid`,
  },
  {
    number: 12,
    says: 'what a customer owes and has paid was delivered',
    broken: `SELECT c_w_id, c_d_id, c_id FROM tpcc.customer LEFT JOIN (${deliveredPerCustomer}) AS deliveries ON ${ofCustomer}
      WHERE c_balance + c_ytd_payment <> coalesce(delivered, 0)`,
  },
];

/** A line for each condition that is broken; empty: all hold. Of one moment. */
export async function brokenConditions(client: Client): Promise<readonly string[]> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    // Columns that go together are taken for independent ones: a loop over all customers is expected to be short, and takes minutes.
    await client.query('SET LOCAL enable_nestloop = off');
    return await conditionsBrokenIn(client);
  } finally {
    await client.query('COMMIT');
  }
}

/** In the transaction that is open there. */
export async function conditionsBrokenIn(client: Client): Promise<readonly string[]> {
  const broken: string[] = [];
  for (const { number, says, broken: query } of conditions) {
    const { rows } = await client.query(`SELECT * FROM (${query}) AS rows LIMIT 3`);
    if (rows.length > 0) broken.push(`condition ${number}, ${says}: not at ${JSON.stringify(rows)}`);
  }
  return broken;
}
