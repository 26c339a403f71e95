/** PostGraphile: a server that finds a function in the schema and offers it; four clients call it over HTTP. */
import { createServer } from 'node:http';
import pg from 'pg';
import { postgraphile } from 'postgraphile';

const [workers, count, attemptsMax] = [4, 100, 100];
const ports = process.env.PGPORT.split(',');
const places = process.env.PGHOST.split(',').map((host, index) => ({ host, port: Number(ports[index]) }));

let next = 0;
/** node-postgres takes one host: each new connection goes to the next one. */
class RotatingClient extends pg.Client {
  constructor(config) {
    super({ ...config, ...places[next++ % places.length] });
  }
}
const pool = new pg.Pool({ Client: RotatingClient, max: workers, connectionTimeoutMillis: 10_000 });
pool.on('error', () => {});

await pool.query(`CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
  CREATE TABLE transfer (id text PRIMARY KEY, debit int REFERENCES account, credit int REFERENCES account, amount int)`);
await pool.query('ALTER TABLE transfer ADD COLUMN note text');
await pool.query('INSERT INTO account SELECT n, 100 FROM generate_series(1, 10) n');
await pool.query(`CREATE FUNCTION make_transfer(id text, debit int, credit int, amount int) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO transfer VALUES (id, debit, credit, amount, 'by PostGraphile') ON CONFLICT DO NOTHING;
    IF FOUND THEN
      PERFORM FROM account a WHERE a.id IN (debit, credit) ORDER BY a.id FOR NO KEY UPDATE;
      UPDATE account a SET balance = balance - amount WHERE a.id = debit;
      UPDATE account a SET balance = balance + amount WHERE a.id = credit;
    END IF;
    RETURN FOUND;
  END $$`);

const server = createServer(postgraphile(pool, 'public', { retryOnInitFail: true, disableQueryLog: true }));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${server.address().port}/graphql`;
const query = `mutation ($id: String!, $debit: Int!, $credit: Int!, $amount: Int!) {
  makeTransfer(input: { id: $id, debit: $debit, credit: $credit, amount: $amount }) { boolean }
}`;

async function make(n) {
  const variables = {
    id: String(n),
    debit: 1 + (n % 10),
    credit: 1 + ((n * 7 + 3) % 10),
    amount: 1 + (n % 5),
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  const { errors } = await response.json();
  if (errors !== undefined) throw new Error(JSON.stringify(errors));
}

const told = { transfers: 0, retries: 0 };
async function work(worker) {
  for (let n = worker; n < count; n += workers) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await make(n);
        break;
      } catch (error) {
        if (attempt === attemptsMax) throw error;
        told.retries += 1;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
    told.transfers += 1;
    if (told.transfers === count / 2) console.log('half');
  }
}
await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
server.close();
await pool.end();
console.log(JSON.stringify(told));
