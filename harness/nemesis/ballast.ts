/** Load that makes logs grow by megabytes a second, for the faults that need it. Its rows are of no other use. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SqlSession } from '../workload/sql-session.ts';

const rowBytes = 1_500_000;
const loadMsMax = 15_000;
const rowsMax = 30;
const SETUP = 'CREATE TABLE ballast (line text)';
/** Large in the log, and small in PostgreSQL, which compresses it. */
const ROW = `INSERT INTO ballast VALUES (repeat(md5(random()::text), ${Math.ceil(rowBytes / 32)}))`;

export const ballastSetup = SETUP;

/** Inserts until `isEnough`, or the bound is reached; errors are what faults are for. */
export async function loadBallast(ports: readonly number[], isEnough: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + loadMsMax;
  for (let row = 0; row < rowsMax && Date.now() < deadline && !(await isEnough()); row++) {
    try {
      const port = ports[row % ports.length]!;
      const session = await SqlSession.open({ port, connectMs: 2000, statementMs: 4000 });
      await session.statement(ROW, [], 'writes').finally(() => session.close());
    } catch {
      await sleep(200);
    }
  }
}

/** Gives the room back. */
export async function dropBallast(ports: readonly number[]): Promise<void> {
  for (const port of ports) {
    try {
      const session = await SqlSession.open({ port, connectMs: 2000, statementMs: 4000 });
      await session.statement('TRUNCATE ballast', [], 'writes').finally(() => session.close());
      return;
    } catch {
      await sleep(100);
    }
  }
}
