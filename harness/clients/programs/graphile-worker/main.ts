/** Graphile Worker: each transfer is a job, which a worker takes by SKIP LOCKED when NOTIFY has wakened it. A job whose connection is lost is done again. */
import { EventEmitter } from 'node:events';
import { Logger, makeWorkerUtils, run, type Runner, type TaskList } from 'graphile-worker';
import { placesOf, rotatingPool } from '../rotating-pool.ts';
import { changes, tell, type Transfer, transfers } from '../transfers.ts';

const pool = rotatingPool(placesOf(process.env), 10);
const quiet = new Logger(() => () => undefined);

await pool.query(`CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
  CREATE TABLE transfer (id text PRIMARY KEY, debit int REFERENCES account, credit int REFERENCES account, amount int)`);
await pool.query('ALTER TABLE transfer ADD COLUMN note text');
await pool.query('INSERT INTO account SELECT n, 100 FROM generate_series(1, 10) n');

/** The worker's own schema is its migration. */
const utils = await makeWorkerUtils({ pgPool: pool, logger: quiet });
await utils.migrate();

const attemptsMax = 100;
const done = new Set<string>();
let runs = 0;
let resolveAll = (): void => undefined;
const all = new Promise<void>((resolve) => {
  resolveAll = resolve;
});

const taskList: TaskList = {
  async transfer(payload, { withPgClient }) {
    const transfer = payload as Transfer;
    runs += 1;
    await withPgClient(async (client) => {
      const { id, debit, credit, amount } = transfer;
      await client.query('BEGIN');
      try {
        const { rowCount } = await client.query(
          "INSERT INTO transfer VALUES ($1, $2, $3, $4, 'by a job') ON CONFLICT DO NOTHING",
          [id, debit, credit, amount],
        );
        if (rowCount === 1) {
          for (const change of changes(transfer)) {
            await client.query('UPDATE account SET balance = balance + $2 WHERE id = $1', [...change]);
          }
        }
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK').catch(() => undefined);
        throw error;
      }
    });
    done.add(transfer.id);
    if (done.size === transfers.length / 2) console.log('half');
    if (done.size === transfers.length) resolveAll();
  },
};

async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === attemptsMax) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** A worker that could not tell what became of its job ends itself: its supervisor unlocks that job and starts another. */
async function supervise(): Promise<void> {
  while (done.size < transfers.length) {
    const ids: string[] = [];
    const events = new EventEmitter();
    events.on('worker:create', ({ worker }: { readonly worker: { readonly workerId: string } }) =>
      ids.push(worker.workerId),
    );
    const runner: Runner = await insist(() =>
      run({
        pgPool: pool,
        logger: quiet,
        concurrency: 4,
        pollInterval: 500,
        noHandleSignals: true,
        events,
        taskList,
      }),
    );
    const stopped = all.then(() => runner.stop()).catch(() => undefined);
    try {
      await Promise.race([runner.promise, stopped]);
    } catch {
      await insist(() => utils.forceUnlockWorkers(ids));
    }
  }
}
const supervised = supervise();

/** Four add jobs, while the worker does others. */
await Promise.all(
  [0, 1, 2, 3].map(async (adder) => {
    for (const transfer of transfers.filter((_, n) => n % 4 === adder)) {
      const once = { jobKey: transfer.id, runAt: new Date(0) };
      await insist(() => utils.addJob('transfer', transfer, once));
    }
  }),
);
await all;
await supervised;
await utils.release();
tell(done.size, Math.max(0, runs - transfers.length));
await pool.end();
