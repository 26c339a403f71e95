/** node-postgres, with plain SQL. */
import { placesOf, rotatingPool } from '../rotating-pool.ts';
import { changes, makeAll } from '../transfers.ts';

const pool = rotatingPool(placesOf(process.env), 4);

await pool.query(`CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
  CREATE TABLE transfer (id text PRIMARY KEY, debit int REFERENCES account, credit int REFERENCES account, amount int)`);
await pool.query('ALTER TABLE transfer ADD COLUMN note text');
await pool.query('INSERT INTO account SELECT n, 100 FROM generate_series(1, 10) n');

await makeAll(async (transfer) => {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query('BEGIN');
    const { id, debit, credit, amount } = transfer;
    const { rowCount } = await client.query(
      "INSERT INTO transfer VALUES ($1, $2, $3, $4, 'by node-postgres') ON CONFLICT DO NOTHING",
      [id, debit, credit, amount],
    );
    if (rowCount === 1) {
      for (const change of changes(transfer)) {
        await client.query('UPDATE account SET balance = balance + $2 WHERE id = $1', [...change]);
      }
    }
    await client.query('COMMIT');
  } catch (error) {
    failure = error as Error;
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    client.release(failure);
  }
});
await pool.end();
