/** Fills the tables of TPC-C, as clause 4.3.3.1 has it. */
import type { Client } from 'pg';
import type { Random } from '../seeded-random.ts';
import { lastName, lastNames, loadConstants, TpccRandom, type NurandConstants } from './tpcc-random.ts';
import { districtsPerWarehouse, firstUndelivered, type TpccScale } from './tpcc-scale.ts';
import { dropTables, makeConstraints, makeTables } from './tpcc-schema.ts';

type Value = string | number | null;
export type Row = readonly Value[];

const rowsAtOnce = 1000;
const districts = Array.from({ length: districtsPerWarehouse }, (_, n) => n + 1);

/** Puts rows into a table, all columns in their order. */
export type Fill = (table: string, rows: Iterable<Row>) => Promise<void>;

/** Drops what is there. @returns what the terminals' own constants must differ from */
export async function loadTpcc(client: Client, scale: TpccScale, random: Random): Promise<NurandConstants> {
  for (const statement of [dropTables, ...makeTables]) await client.query(statement);
  const constants = await fillTables((table, rows) => insert(client, table, rows), scale, random);
  for (const statement of makeConstraints) await client.query(statement);
  return constants;
}

/** Of what a row refers to, the rows come before it. */
export async function fillTables(fill: Fill, scale: TpccScale, random: Random): Promise<NurandConstants> {
  const constants = loadConstants(random);
  const drawn = new TpccRandom(random, constants);
  await fill('item', items(drawn, scale));
  for (let warehouse = 1; warehouse <= scale.warehouses; warehouse += 1)
    await fillWarehouse(fill, drawn, scale, warehouse);
  return constants;
}

async function fillWarehouse(
  fill: Fill,
  drawn: TpccRandom,
  scale: TpccScale,
  warehouse: number,
): Promise<void> {
  const ytd = 10 * scale.customers;
  const place = (): Row => addressOf(drawn);
  const total = (ytd * districtsPerWarehouse).toFixed(2);
  await fill('warehouse', [[warehouse, drawn.text(6, 10), ...place(), drawn.fraction(0.2), total]]);
  await fill('stock', stock(drawn, scale, warehouse));
  const next = scale.customers + 1;
  await fill(
    'district',
    districts.map(
      (district): Row => [
        district,
        warehouse,
        drawn.text(6, 10),
        ...place(),
        drawn.fraction(0.2),
        ytd.toFixed(2),
        next,
      ],
    ),
  );
  for (const district of districts) {
    await fill('customer', customers(drawn, scale, warehouse, district));
    await fill('history', histories(drawn, scale, warehouse, district));
    await fillOrders(fill, [district, warehouse], firstOrders(drawn, scale));
  }
}

async function fillOrders(
  fill: Fill,
  [district, warehouse]: readonly [number, number],
  orders: readonly FirstOrder[],
): Promise<void> {
  const place = [district, warehouse];
  await fill(
    'orders',
    orders.map(({ id, customer, carrier, lines }) => [id, ...place, customer, now, carrier, lines.length, 1]),
  );
  await fill(
    'order_line',
    orders.flatMap(({ id, lines }) =>
      lines.map(({ item, delivered, amount, info }, n) => [
        id,
        ...place,
        n + 1,
        item,
        warehouse,
        delivered,
        5,
        amount,
        info,
      ]),
    ),
  );
  const waiting = orders.filter(({ carrier }) => carrier === null);
  await fill(
    'new_order',
    waiting.map(({ id }) => [id, district, warehouse]),
  );
}

const now = new Date().toISOString();

function addressOf(drawn: TpccRandom): Row {
  return [drawn.text(10, 20), drawn.text(10, 20), drawn.text(10, 20), drawn.text(2), drawn.zip()];
}

function* items(drawn: TpccRandom, scale: TpccScale): Generator<Row> {
  for (let id = 1; id <= scale.items; id += 1)
    yield [id, drawn.whole(1, 10_000), drawn.text(14, 24), drawn.amount(1, 100), drawn.data(26, 50)];
}

function* stock(drawn: TpccRandom, scale: TpccScale, warehouse: number): Generator<Row> {
  for (let item = 1; item <= scale.items; item += 1) {
    const infos = districts.map(() => drawn.text(24));
    yield [item, warehouse, drawn.whole(10, 100), ...infos, 0, 0, 0, drawn.data(26, 50)];
  }
}

/** The first thousand of a district have all last names there are. */
function* customers(
  drawn: TpccRandom,
  scale: TpccScale,
  warehouse: number,
  district: number,
): Generator<Row> {
  for (let id = 1; id <= scale.customers; id += 1) {
    const last = id <= lastNames ? lastName(id - 1) : drawn.lastName(scale.customers);
    const credit = drawn.chance(0.1) ? 'BC' : 'GC';
    const name = [drawn.text(8, 16), 'OE', last];
    const account = [credit, '50000.00', drawn.fraction(0.5), '-10.00', '10.00', 1, 0, drawn.text(300, 500)];
    yield [id, district, warehouse, ...name, ...addressOf(drawn), drawn.digits(16), now, ...account];
  }
}

function* histories(
  drawn: TpccRandom,
  scale: TpccScale,
  warehouse: number,
  district: number,
): Generator<Row> {
  for (let id = 1; id <= scale.customers; id += 1)
    yield [id, district, warehouse, district, warehouse, now, '10.00', drawn.text(12, 24)];
}

interface FirstOrder {
  readonly id: number;
  readonly customer: number;
  readonly carrier: number | null;
  readonly lines: readonly {
    readonly item: number;
    readonly delivered: string | null;
    readonly amount: string;
    readonly info: string;
  }[];
}

/** One of each customer, in any order. */
function firstOrders(drawn: TpccRandom, scale: TpccScale): readonly FirstOrder[] {
  const everybody = drawn.shuffled(Array.from({ length: scale.customers }, (_, n) => n + 1));
  const waitsFrom = firstUndelivered(scale);
  return everybody.map((customer, index) => {
    const waits = index + 1 >= waitsFrom;
    const lines = Array.from({ length: drawn.whole(5, 15) }, () => ({
      item: drawn.whole(1, scale.items),
      delivered: waits ? null : now,
      amount: waits ? drawn.amount(0.01, 9999.99) : '0.00',
      info: drawn.text(24),
    }));
    return { id: index + 1, customer, carrier: waits ? null : drawn.whole(1, 10), lines };
  });
}

async function insert(client: Client, table: string, rows: Iterable<Row>): Promise<void> {
  let batch: Row[] = [];
  for (const row of rows) {
    batch.push(row);
    if (batch.length < rowsAtOnce) continue;
    await insertBatch(client, table, batch);
    batch = [];
  }
  if (batch.length > 0) await insertBatch(client, table, batch);
}

/** As one document, which PostgreSQL takes apart by the table's own columns. */
async function insertBatch(client: Client, table: string, rows: readonly Row[]): Promise<void> {
  const { rows: names } = await client.query<{ attname: string }>({
    name: 'columns',
    text: "SELECT attname FROM pg_attribute WHERE attrelid = ('tpcc.' || $1)::regclass AND attnum > 0 ORDER BY attnum",
    values: [table],
  });
  const objects = rows.map((row) => Object.fromEntries(names.map(({ attname }, n) => [attname, row[n]])));
  await client.query(
    `INSERT INTO tpcc.${table} SELECT * FROM json_populate_recordset(NULL::tpcc.${table}, $1)`,
    [JSON.stringify(objects)],
  );
}
