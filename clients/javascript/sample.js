/**
 * Counts to forty: each number by a statement of its own, and a sum that a transaction raises. Kill the leader meanwhile.
 *
 * BARISTA_REPLICAS=127.0.0.1:9000,127.0.0.1:9001,127.0.0.1:9002 node sample.js
 */
const { readFileSync } = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');
const { BaristaClient } = require('./barista-client.js');

const steps = 40;
const table = process.env.BARISTA_TABLE ?? 'sample_javascript';
const replicas = (process.env.BARISTA_REPLICAS ?? '127.0.0.1:9000,127.0.0.1:9001,127.0.0.1:9002')
  .split(',')
  .map((place) => ({ host: place.split(':')[0], port: Number(place.split(':')[1]) }));

async function main() {
  const account = { user: 'barista', password: 'barista', database: 'barista' };
  const ca = process.env.BARISTA_CA === undefined ? null : readFileSync(process.env.BARISTA_CA);
  const answerTimeoutMs = Number(process.env.BARISTA_ANSWER_TIMEOUT_MS ?? 20_000);
  const client = new BaristaClient({ replicas, ...account, ca, answerTimeoutMs });
  try {
    await count(client);
  } finally {
    await client.close();
  }
}

async function count(client) {
  await client.execute(`CREATE TABLE IF NOT EXISTS ${table} (n int, note text)`);
  await client.execute(`CREATE TABLE IF NOT EXISTS ${table}_sum (total int)`);
  await client.execute(`INSERT INTO ${table}_sum VALUES (0)`);
  let begun = 0;
  for (let n = 1; n <= steps; n += 1) {
    await client.execute(`INSERT INTO ${table} VALUES ($1, $2)`, [n, n % 2 === 0 ? null : '\\N']);
    await client.transaction(async (run) => {
      begun += 1;
      const { rows } = await run(`SELECT total FROM ${table}_sum FOR UPDATE`);
      if (n === steps / 2) {
        console.log('half');
        await pause(500);
      }
      await run(`UPDATE ${table}_sum SET total = $1`, [Number(rows[0][0]) + n]);
    });
    await pause(25);
  }
  const { rows } = await client.execute(
    `SELECT count(*), count(DISTINCT n), count(note), max(note), (SELECT max(total) FROM ${table}_sum) FROM ${table}`,
  );
  console.log(rows[0].map(String).join(' '));
  console.log(JSON.stringify({ steps, retries: client.retries, begun }));
}

main().catch((error) => {
  console.error(error.message, error);
  process.exitCode = 1;
});
