/** The New-Order transaction of TPC-C (clause 2.4): one in a hundred names an item that does not exist, and rolls back. */
import type { TpccRandom } from './tpcc-random.ts';
import { districtsPerWarehouse, type TpccScale } from './tpcc-scale.ts';
import { infoOf } from './tpcc-schema.ts';
import { MeantToRollBack, only, statement, type Ask } from './tpcc-session.ts';

interface Line {
  readonly item: number;
  readonly supplier: number;
  readonly quantity: number;
}

export interface NewOrder {
  readonly warehouse: number;
  readonly district: number;
  readonly customer: number;
  readonly lines: readonly Line[];
}

const readWarehouse = statement(
  'no_customer',
  `SELECT w_tax, c_discount, c_last, c_credit FROM tpcc.warehouse JOIN tpcc.customer ON c_w_id = w_id
   WHERE w_id = $1 AND c_d_id = $2 AND c_id = $3`,
);
const takeNumber = statement(
  'no_district',
  'UPDATE tpcc.district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2 RETURNING d_next_o_id - 1, d_tax',
);
const addOrder = statement(
  'no_order',
  'INSERT INTO tpcc.orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES ($1, $2, $3, $4, now(), $5, $6)',
);
const addNewOrder = statement('no_new_order', 'INSERT INTO tpcc.new_order VALUES ($1, $2, $3)');
const readItem = statement('no_item', 'SELECT i_price, i_name, i_data FROM tpcc.item WHERE i_id = $1');
/** The stock is filled up again where less than ten would be left. */
const takeStock = Array.from({ length: districtsPerWarehouse }, (_, n) =>
  statement(
    `no_stock_${n + 1}`,
    `UPDATE tpcc.stock SET s_quantity = CASE WHEN s_quantity >= $3 + 10 THEN s_quantity - $3 ELSE s_quantity - $3 + 91 END,
       s_ytd = s_ytd + $3, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $4
     WHERE s_w_id = $1 AND s_i_id = $2 RETURNING ${infoOf(n + 1)}, s_data`,
  ),
);
const addLine = statement(
  'no_line',
  `INSERT INTO tpcc.order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $7::int * $8::numeric, $9)`,
);

const rollbackShare = 0.01;
const remoteShare = 0.01;

/** Lines in the order of their stock, so that two orders do not wait for each other. */
export function drawNewOrder(drawn: TpccRandom, scale: TpccScale, warehouse: number): NewOrder {
  const lines = Array.from({ length: drawn.whole(5, 15) }, () => ({
    item: drawn.item(scale.items),
    supplier: drawn.chance(remoteShare) ? anotherWarehouse(drawn, scale, warehouse) : warehouse,
    quantity: drawn.whole(1, 10),
  })).sort((one, other) => one.supplier - other.supplier || one.item - other.item);
  const missing = { item: scale.items + 1, supplier: warehouse, quantity: 1 };
  return {
    warehouse,
    district: drawn.whole(1, districtsPerWarehouse),
    customer: drawn.customer(scale.customers),
    lines: drawn.chance(rollbackShare) ? [...lines.slice(0, -1), missing] : lines,
  };
}

/** The only one there is has no other. */
export function anotherWarehouse(drawn: TpccRandom, { warehouses }: TpccScale, own: number): number {
  if (warehouses === 1) return own;
  const other = drawn.whole(1, warehouses - 1);
  return other < own ? other : other + 1;
}

/** @throws MeantToRollBack; pg's errors */
export async function newOrder(ask: Ask, { warehouse, district, customer, lines }: NewOrder): Promise<void> {
  only(await ask(readWarehouse, warehouse, district, customer), 'a customer');
  const [number] = only(await ask(takeNumber, warehouse, district), 'a district');
  const isLocal = lines.every(({ supplier }) => supplier === warehouse);
  await ask(addOrder, number, district, warehouse, customer, lines.length, isLocal ? 1 : 0);
  await ask(addNewOrder, number, district, warehouse);
  for (const [index, { item, supplier, quantity }] of lines.entries()) {
    const [found] = await ask(readItem, item);
    if (found === undefined) throw new MeantToRollBack(`there is no item ${item}`);
    const isRemote = supplier === warehouse ? 0 : 1;
    const [info] = only(await ask(takeStock[district - 1]!, supplier, item, quantity, isRemote), 'a stock');
    await ask(addLine, number, district, warehouse, index + 1, item, supplier, quantity, found[0], info);
  }
}
