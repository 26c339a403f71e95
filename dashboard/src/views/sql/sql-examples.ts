/** What the console offers to begin with. */

export interface SqlExample {
  readonly name: string;
  readonly sql: string;
}

/** A first tour: each is one statement, and harmless to run twice. */
const ofPostgres: readonly [SqlExample, ...SqlExample[]] = [
  {
    name: 'Create a table',
    sql: `CREATE TABLE IF NOT EXISTS orders (
  id bigserial PRIMARY KEY,
  drink text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);`,
  },
  { name: 'Insert a row', sql: `INSERT INTO orders (drink) VALUES ('flat white');` },
  { name: 'Read it back', sql: 'SELECT * FROM orders ORDER BY id DESC LIMIT 20;' },
  {
    name: 'Insert a thousand',
    sql: `INSERT INTO orders (drink)\nSELECT 'espresso' FROM generate_series(1, 1000);`,
  },
];

/** A simulated group has a model of PostgreSQL, which reads no more than this (dashboard/sim/model-sql.ts). `guests` is no table of its load (dashboard/sim/load.ts), which drops its own now and then. */
const ofModel: readonly [SqlExample, ...SqlExample[]] = [
  { name: 'Insert a row', sql: `INSERT INTO guests VALUES ('Ada');` },
  { name: 'Insert some', sql: `INSERT INTO guests VALUES ('Edsger'), ('Barbara');` },
  { name: 'Read them back', sql: 'SELECT * FROM guests;' },
  { name: 'Read what the load writes', sql: 'SELECT * FROM orders;' },
];

export function examplesOf(isSimulated: boolean): readonly [SqlExample, ...SqlExample[]] {
  return isSimulated ? ofModel : ofPostgres;
}
