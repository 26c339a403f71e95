/** The Payment, Order-Status, Delivery and Stock-Level transactions of TPC-C (clauses 2.5 to 2.8). */
import { anotherWarehouse } from './new-order.ts';
import type { TpccRandom } from './tpcc-random.ts';
import { districtsPerWarehouse, type TpccScale } from './tpcc-scale.ts';
import { only, statement, type Ask } from './tpcc-session.ts';

/** A customer is told by number, or by last name: then it is the one in the middle of all who have it, by their first names. */
export type CustomerKey = { readonly id: number } | { readonly last: string };

const byNameShare = 0.6;
const remoteShare = 0.15;

const byLastName = statement(
  'customer_by_name',
  'SELECT c_id FROM tpcc.customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first',
);

function drawCustomer(drawn: TpccRandom, { customers }: TpccScale): CustomerKey {
  return drawn.chance(byNameShare) ? { last: drawn.lastName(customers) } : { id: drawn.customer(customers) };
}

async function customerOf(ask: Ask, warehouse: number, district: number, key: CustomerKey): Promise<unknown> {
  if ('id' in key) return key.id;
  const found = await ask(byLastName, warehouse, district, key.last);
  const [id] = only(found.slice(Math.ceil(found.length / 2) - 1).slice(0, 1), `customers called ${key.last}`);
  return id;
}

export interface Payment {
  readonly warehouse: number;
  readonly district: number;
  readonly customerWarehouse: number;
  readonly customerDistrict: number;
  readonly customer: CustomerKey;
  readonly amount: string;
}

const payWarehouse = statement(
  'p_warehouse',
  'UPDATE tpcc.warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1 RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip',
);
const payDistrict = statement(
  'p_district',
  'UPDATE tpcc.district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2 RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip',
);
/** Of those with bad credit it is written down what they paid. */
const payCustomer = statement(
  'p_customer',
  `UPDATE tpcc.customer SET c_balance = c_balance - $4::numeric, c_ytd_payment = c_ytd_payment + $4::numeric, c_payment_cnt = c_payment_cnt + 1,
     c_data = CASE WHEN c_credit = 'BC' THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, $5::int, $6::int, $4::numeric) || c_data, 500) ELSE c_data END
   WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
   RETURNING c_first, c_middle, c_last, c_credit, c_credit_lim, c_discount, c_balance, left(c_data, 200)`,
);
const addHistory = statement(
  'p_history',
  `INSERT INTO tpcc.history SELECT $1, $2, $3, $4, $5, now(), $6, $7::text || '    ' || $8::text`,
);

export function drawPayment(drawn: TpccRandom, scale: TpccScale, warehouse: number): Payment {
  const district = drawn.whole(1, districtsPerWarehouse);
  const isRemote = drawn.chance(remoteShare);
  return {
    warehouse,
    district,
    customerWarehouse: isRemote ? anotherWarehouse(drawn, scale, warehouse) : warehouse,
    customerDistrict: isRemote ? drawn.whole(1, districtsPerWarehouse) : district,
    customer: drawCustomer(drawn, scale),
    amount: drawn.amount(1, 5000),
  };
}

export async function payment(ask: Ask, asked: Payment): Promise<void> {
  const { warehouse, district, customerWarehouse, customerDistrict, amount } = asked;
  const [warehouseName] = only(await ask(payWarehouse, warehouse, amount), 'a warehouse');
  const [districtName] = only(await ask(payDistrict, warehouse, district, amount), 'a district');
  const customer = await customerOf(ask, customerWarehouse, customerDistrict, asked.customer);
  const place = [customerWarehouse, customerDistrict, customer];
  only(await ask(payCustomer, ...place, amount, district, warehouse), 'a customer');
  const names = [warehouseName, districtName];
  await ask(addHistory, customer, customerDistrict, customerWarehouse, district, warehouse, amount, ...names);
}

export interface OrderStatus {
  readonly warehouse: number;
  readonly district: number;
  readonly customer: CustomerKey;
}

const readCustomer = statement(
  'os_customer',
  'SELECT c_balance, c_first, c_middle, c_last FROM tpcc.customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3',
);
const lastOrder = statement(
  'os_order',
  'SELECT o_id, o_entry_d, o_carrier_id FROM tpcc.orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1',
);
const linesOfOrder = statement(
  'os_lines',
  'SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM tpcc.order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3',
);

export function drawOrderStatus(drawn: TpccRandom, scale: TpccScale, warehouse: number): OrderStatus {
  return {
    warehouse,
    district: drawn.whole(1, districtsPerWarehouse),
    customer: drawCustomer(drawn, scale),
  };
}

export async function orderStatus(
  ask: Ask,
  { warehouse, district, customer: key }: OrderStatus,
): Promise<void> {
  const customer = await customerOf(ask, warehouse, district, key);
  only(await ask(readCustomer, warehouse, district, customer), 'a customer');
  const [order] = only(await ask(lastOrder, warehouse, district, customer), 'orders of a customer');
  await ask(linesOfOrder, warehouse, district, order);
}

export interface Delivery {
  readonly warehouse: number;
  readonly carrier: number;
}

/** Whoever takes the oldest one first has it: the next one looks again. */
const oldestOrder = statement(
  'd_oldest',
  'SELECT no_o_id FROM tpcc.new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1',
);
const takeOrder = statement(
  'd_take',
  'DELETE FROM tpcc.new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3 RETURNING no_o_id',
);
const giveCarrier = statement(
  'd_order',
  'UPDATE tpcc.orders SET o_carrier_id = $4 WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3 RETURNING o_c_id',
);
const deliverLines = statement(
  'd_lines',
  `WITH delivered AS (UPDATE tpcc.order_line SET ol_delivery_d = now() WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 RETURNING ol_amount)
   SELECT sum(ol_amount) FROM delivered`,
);
const chargeCustomer = statement(
  'd_customer',
  'UPDATE tpcc.customer SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 RETURNING c_id',
);

export function drawDelivery(drawn: TpccRandom, warehouse: number): Delivery {
  return { warehouse, carrier: drawn.whole(1, 10) };
}

/** The oldest order of each district that waits; a district in which none does is left out. */
export async function delivery(ask: Ask, { warehouse, carrier }: Delivery): Promise<void> {
  for (let district = 1; district <= districtsPerWarehouse; district += 1) {
    for (;;) {
      const [oldest] = await ask(oldestOrder, warehouse, district);
      if (oldest === undefined) break;
      const [order] = oldest;
      if ((await ask(takeOrder, warehouse, district, order)).length === 0) continue;
      const [customer] = only(await ask(giveCarrier, warehouse, district, order, carrier), 'an order');
      const [amount] = only(await ask(deliverLines, warehouse, district, order), 'a sum');
      only(await ask(chargeCustomer, warehouse, district, customer, amount), 'a customer');
      break;
    }
  }
}

export interface StockLevel {
  readonly warehouse: number;
  readonly district: number;
  readonly threshold: number;
}

const nextOrder = statement(
  'sl_district',
  'SELECT d_next_o_id FROM tpcc.district WHERE d_w_id = $1 AND d_id = $2',
);
const lowStock = statement(
  'sl_stock',
  `SELECT count(DISTINCT s_i_id) FROM tpcc.order_line JOIN tpcc.stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
   WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id < $3 AND ol_o_id >= $3 - 20 AND s_quantity < $4`,
);

export function drawStockLevel(drawn: TpccRandom, warehouse: number, district: number): StockLevel {
  return { warehouse, district, threshold: drawn.whole(10, 20) };
}

export async function stockLevel(ask: Ask, { warehouse, district, threshold }: StockLevel): Promise<void> {
  const [next] = only(await ask(nextOrder, warehouse, district), 'a district');
  only(await ask(lowStock, warehouse, district, next, threshold), 'a count');
}
