/** PostgreSQL is killed while it executes; a replica goes on from its pointer, or says that only a copy helps. Where it says that it is exact it ends up the same as one that was never killed. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, query, sync } from '../../pgwire/frontend-messages.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { Operation } from './operation.ts';
import { begin, execute, type Machine, make } from './testing/machine.ts';
import { openOf, queries, requestOf, sessionOf, words } from './testing/statement-replica.ts';

async function crash(machine: Machine): Promise<Machine> {
  const text = await readFile(join(machine.postgres.data, 'postmaster.pid'), 'utf8');
  process.kill(Number(text.split('\n')[0]), 'SIGKILL');
  await machine.executor.stop().catch(() => undefined);
  await machine.postgres.stop('immediate');
  // Backends notice that their main process is gone, and let go of its memory.
  for (let tries = 0; ; tries += 1) {
    try {
      await machine.postgres.start();
      break;
    } catch (error) {
      if (tries === 20) throw error;
      await machine.postgres.stop('immediate');
    }
  }
  return begin(machine.postgres, true);
}

async function contents({ postgres }: Machine): Promise<string> {
  const client = await postgres.connect('barista');
  const { rows } = await client.query('SELECT a, b FROM t ORDER BY a, b');
  return JSON.stringify(rows);
}

/** Park and Miller. */
function drawing(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 0x7fff_ffff;
    return state % below;
  };
}

const names = ['a', 'b', 'c'];

/** Transactions of three sessions, one of which at a time is in a block now and then. */
function drawLog(draw: (below: number) => number, count: number): Operation[] {
  const request = queries();
  const log: Operation[] = names.map(openOf);
  log.push(request('a', 'CREATE TABLE IF NOT EXISTS t (a int, b bigint)'));
  while (log.length < count) {
    const name = names[draw(3)]!;
    const text = `INSERT INTO t SELECT ${log.length}, coalesce(sum(a + b), 0) % 1000003 FROM t`;
    if (draw(4) > 0) log.push(request(name, text));
    else
      for (const part of [
        'BEGIN',
        text,
        `UPDATE t SET b = b + 1 WHERE a % 7 = ${draw(7)}`,
        draw(4) > 0 ? 'COMMIT' : 'ROLLBACK',
      ])
        log.push(request(name, part));
    // Its client has got no answer.
    if (draw(5) === 0) log.push(log.at(-1)!);
  }
  return log;
}

describe('a replica whose PostgreSQL is killed', () => {
  it('is exact where it says so, and the same as one that was never killed', async () => {
    const seed = Number(process.env['SEED'] ?? 11);
    const draw = drawing(seed);
    const log = drawLog(draw, 140);
    const whole = await make();
    let killed = await make();
    const outcomes: string[] = [];
    try {
      await execute(whole, log);
      for (let round = 0; round < 3; round += 1) {
        const goal = Math.min(log.length, killed.executor.pointer + 15 + draw(30));
        const dies = new Promise<void>((resolve) => {
          setTimeout(resolve, 30 + draw(400));
        });
        const work = execute(killed, log.slice(0, goal)).catch(() => undefined);
        await dies;
        const { executor } = killed;
        killed = await crash(killed);
        await work;
        outcomes.push(killed.started.code);
        expect(killed.started.pointer, `SEED=${seed}`).toBeLessThanOrEqual(executor.pointer + 1);
        // Only a copy helps, which this is not about.
        if (killed.started.code === 'inexact') {
          await killed.executor.stop().catch(() => undefined);
          await killed.postgres.remove();
          killed = await make();
        }
      }
      await execute(killed, log);
      expect(await contents(killed), `SEED=${seed} ${outcomes.join()}`).toBe(await contents(whole));
      expect(outcomes, `SEED=${seed}`).toContain('exact');
    } finally {
      await Promise.all([whole, killed].map(({ postgres }) => postgres.remove()));
    }
  });

  it('says what it cannot go on from, and gives sessions back as they were', async () => {
    let machine = await make();
    const log: Operation[] = drawLog(drawing(3), 5).slice(0, 4);
    const seqs = new Map([['a', 1]]);
    const add = async (name: string, bytes: Buffer): Promise<string> => {
      const seq = (seqs.get(name) ?? 0) + 1;
      seqs.set(name, seq);
      log.push(requestOf(name, seq, bytes));
      await execute(machine, log);
      return words(machine.results.get(log.length)?.answer ?? Buffer.alloc(0));
    };
    const sql = (name: string, text: string): Promise<string> => add(name, query(text));
    try {
      await execute(machine, log);
      await sql('a', "SET work_mem = '7MB'; SET my.own = 'x'");
      await sql('a', 'PREPARE p (int) AS INSERT INTO t VALUES ($1, 5) RETURNING a');
      await add('a', Buffer.concat([parse('named', 'SELECT 41 + 1'), sync]));
      await sql('b', 'INSERT INTO t VALUES (1, 1)');
      const lastOfB = log.at(-1)!;
      await machine.executor.stop();
      machine = await begin(machine.postgres, false);
      expect(machine.started).toEqual({ code: 'exact', pointer: log.length });
      log.push(lastOfB);
      await execute(machine, log);
      expect(machine.results.get(log.length)).toMatchObject({ outcome: 'repeated' });
      expect(await sql('a', "SELECT current_setting('work_mem') || current_setting('my.own')")).toBe(
        '(7MBx) SELECT 1 I',
      );
      expect(await sql('a', 'EXECUTE p (9)')).toBe('(9) INSERT 0 1 I');
      expect(await sql('a', 'SELECT name FROM pg_prepared_statements ORDER BY 1')).toBe(
        '(named) (p) SELECT 2 I',
      );
      expect(await sql('c', 'SELECT count(*) FROM t')).toBe('(2) SELECT 1 I');

      // A sequence that a crash has moved on.
      await sql('a', "CREATE SEQUENCE s; SELECT nextval('s')");
      await sql('a', 'INSERT INTO t VALUES (2, 2)');
      await machine.executor.stop();
      await machine.postgres.stop('immediate');
      await machine.postgres.start();
      machine = await begin(machine.postgres, true);
      expect(machine.started).toMatchObject({ code: 'inexact', reason: 'sequences' });
      machine = await begin(machine.postgres, false);
      expect(machine.started.code).toBe('exact');

      // A transaction that was open when another was committed.
      await sql('a', 'BEGIN');
      await sql('a', 'INSERT INTO t VALUES (3, 3)');
      await sql('b', 'INSERT INTO t VALUES (4, 4)');
      await machine.executor.stop();
      machine = await begin(machine.postgres, false);
      expect(machine.started).toMatchObject({ code: 'inexact', reason: 'openTransactions' });

      // A statement that commits by itself and did not come to its end.
      const operator = await machine.postgres.connect('postgres');
      await operator.query('INSERT INTO pg_barista.statement_alone VALUES (1, false)');
      machine = await begin(machine.postgres, false);
      expect(machine.started).toMatchObject({ code: 'inexact', reason: 'halfDone' });
    } finally {
      await machine.postgres.remove();
    }
  });
});

describe('what a restart must not forget', () => {
  const said = (machine: Machine, slot: number): string =>
    words(machine.results.get(slot)?.answer ?? Buffer.alloc(0));

  it('is a request that failed, and moved no pointer: it comes again behind a crash', async () => {
    let machine = await make();
    try {
      const fails = requestOf('a', 3, query('INSERT INTO t SELECT 1 / count(*), 1 FROM u'));
      const log = [
        openOf('a'),
        openOf('b'),
        requestOf('a', 1, query('CREATE TABLE t (a int, b bigint); CREATE TABLE u (a int)')),
        requestOf('a', 2, query('SELECT 1')),
        requestOf('b', 1, query('SELECT 1')),
        fails,
        // It moves the pointer, and what failed would not fail any more.
        requestOf('b', 2, query('INSERT INTO u VALUES (1)')),
      ];
      await execute(machine, log);
      expect(said(machine, 6)).toBe('!22012 I');
      // As long as PostgreSQL takes to write what is committed.
      await new Promise((resolve) => setTimeout(resolve, 450));
      machine = await crash(machine);
      expect(machine.started).toEqual({ code: 'exact', pointer: 7 });
      log.push(fails);
      await execute(machine, log);
      expect(await contents(machine)).toBe('[]');
    } finally {
      await machine.executor.stop().catch(() => undefined);
      await machine.postgres.remove();
    }
  });

  it.each([
    ['in a block', ['BEGIN', 'DECLARE c CURSOR WITH HOLD FOR SELECT wr(1)', 'COMMIT']],
    ['in a request of its own', ['DECLARE c CURSOR/**/WITH HOLD FOR SELECT wr(1)']],
    ['in a function', ["SELECT holds('DECLARE c CURSOR WITH HOLD FOR SELECT wr(1)')"]],
  ])('is what a cursor WITH HOLD has written at the end of its transaction: %s', async (_, texts) => {
    let machine = await make();
    const ask = queries();
    try {
      const define = (name: string, type: string, body: string): Operation =>
        ask(
          'a',
          `CREATE FUNCTION ${name}(i ${type}) RETURNS ${type} LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN i; END $$`,
        );
      const log = [
        openOf('a'),
        ask('a', 'CREATE TABLE t (a int, b bigint)'),
        define('wr', 'int', 'INSERT INTO t VALUES (i)'),
        define('holds', 'text', 'EXECUTE i'),
        ...texts.map((text) => ask('a', text)),
        ask('a', 'SELECT count(*) FROM t'),
      ];
      await execute(machine, log);
      expect(said(machine, log.length)).toBe('(1) SELECT 1 I');
      // Whatever is committed is on the disk.
      const operator = await machine.postgres.connect('postgres');
      await operator.query('CHECKPOINT');
      machine = await crash(machine);
      // A session that has such a cursor cannot be opened again; what must not be is that its transaction is executed again.
      expect(machine.started.pointer).toBeGreaterThanOrEqual(log.length - 1);
    } finally {
      await machine.executor.stop().catch(() => undefined);
      await machine.postgres.remove();
    }
  });

  it('is a block that was ended for others', async () => {
    let machine = await make();
    const ask = queries();
    try {
      const log = [
        openOf('a'),
        openOf('b'),
        ask('b', 'CREATE TABLE t (a int, b bigint)'),
        ask('a', 'BEGIN'),
        ask('a', 'SELECT 1'),
        { kind: 'cancelOpen', session: sessionOf('a') } satisfies Operation,
        ask('b', 'INSERT INTO t VALUES (1, 1)'),
      ];
      await execute(machine, log);
      await machine.executor.stop();
      machine = await begin(machine.postgres, false);
      expect(machine.started).toEqual({ code: 'exact', pointer: 7 });
      log.push(ask('a', 'INSERT INTO t VALUES (2, 2)'));
      await execute(machine, log);
      expect(said(machine, 8)).toBe('!25P02 E');
      expect(await contents(machine)).toBe('[{"a":1,"b":"1"}]');
    } finally {
      await machine.executor.stop().catch(() => undefined);
      await machine.postgres.remove();
    }
  });

  it('is a number of a sequence that was drawn by what moved no pointer', async () => {
    let machine = await make();
    const ask = queries();
    try {
      const log = [
        openOf('a'),
        ask('a', 'CREATE TABLE t (a serial, b bigint UNIQUE)'),
        ask('a', 'INSERT INTO t (b) VALUES (1)'),
        ask('a', 'INSERT INTO t (b) VALUES (1)'),
      ];
      await execute(machine, log.slice(0, 3));
      const operator = await machine.postgres.connect('barista');
      await operator.query('CHECKPOINT');
      await execute(machine, log);
      expect(said(machine, 4)).toBe('!23505 I');
      await operator.query('CHECKPOINT');
      await operator.end();
      machine = await crash(machine);
      expect(machine.started).toMatchObject({ code: 'inexact', reason: 'sequences' });
    } finally {
      await machine.executor.stop().catch(() => undefined);
      await machine.postgres.remove();
    }
  });
});

describe('what a pause holds back', () => {
  const write = 'INSERT INTO t SELECT 1, count(*) FROM t';
  /** A pause while a transaction is open: b's request and c's are held back, and another one of b comes behind. */
  function pauseLog(heldByC: string): Operation[] {
    const ask = queries();
    return [
      openOf('a'),
      openOf('b'),
      openOf('c'),
      ask('a', 'CREATE TABLE t (a int, b bigint)'),
      ask('a', 'BEGIN'),
      ask('a', write),
      { kind: 'pause', name: 'ab'.repeat(16) },
      requestOf('b', 1, query(`BEGIN; ${write}; COMMIT`), 'begin'),
      requestOf('c', 1, query(heldByC), 'begin'),
      requestOf('b', 2, query('UPDATE t SET a = a + 1')),
      ask('a', 'COMMIT'),
    ];
  }

  async function withTwo(work: (whole: Machine, killed: Machine) => Promise<Machine>): Promise<void> {
    const machines = [await make(), await make()] as const;
    let last = machines[1];
    try {
      last = await work(...machines);
    } finally {
      for (const { executor } of [machines[0], last]) await executor.stop().catch(() => undefined);
      for (const { postgres } of machines) await postgres.remove();
    }
  }

  it('is executed once behind a crash at the moment of rest', async () => {
    await withTwo(async (whole, killed) => {
      const log = pauseLog('BEGIN');
      const reached = new Promise<void>((resolve) => {
        killed.onRest = () => {
          resolve();
          return new Promise(() => undefined);
        };
      });
      void execute(killed, log).catch(() => undefined);
      await reached;
      let again = await crash(killed);
      expect(again.started).toEqual({ code: 'exact', pointer: 11 });
      await again.executor.goOn();
      expect([8, 9, 10].map((slot) => words(again.results.get(slot)!.answer))).toEqual([
        'BEGIN INSERT 0 1 COMMIT I',
        'BEGIN T',
        'UPDATE 2 I',
      ]);
      log.push(requestOf('c', 2, query(write)), requestOf('c', 3, query('COMMIT')));
      await execute(again, log);
      await execute(whole, log);
      expect(await contents(again)).toBe(await contents(whole));
      // And not again, when it stops once more.
      await again.executor.stop();
      again = await begin(again.postgres, false);
      await again.executor.goOn();
      expect(await contents(again)).toBe(await contents(whole));
      return again;
    });
  });

  it('is not taken for done by what was written down of its session behind the moment of rest', async () => {
    await withTwo(async (whole, killed) => {
      const ask = queries();
      const log: Operation[] = [
        openOf('a'),
        openOf('b'),
        openOf('c'),
        ask('a', 'CREATE TABLE t (a int, b bigint)'),
        ask('a', 'BEGIN'),
        { kind: 'pause', name: 'ab'.repeat(16) },
        requestOf('b', 1, query('BEGIN'), 'begin'),
        ask('a', 'COMMIT'),
        // Rows of all sessions are written ahead of it, and it moves no pointer.
        requestOf('c', 1, query("SET work_mem = '7MB'")),
      ];
      await execute(killed, log);
      const operator = await killed.postgres.connect('barista');
      await operator.query('CHECKPOINT');
      let again = await crash(killed);
      expect(again.started).toEqual({ code: 'exact', pointer: 8 });
      await again.executor.goOn();
      log.push(requestOf('b', 2, query(write)), requestOf('b', 3, query('ROLLBACK')));
      await execute(again, log);
      await execute(whole, log);
      expect(await contents(again)).toBe(await contents(whole));
      await again.executor.stop();
      again = await begin(again.postgres, false);
      return again;
    });
  });

  it('is open for a crash before it is written down', async () => {
    await withTwo(async (_, killed) => {
      // What ends the last transaction is committed, and no more than that.
      killed.onFinished = (slot) => {
        if (slot === 11) throw new Error('struck');
      };
      await expect(execute(killed, pauseLog('BEGIN'))).rejects.toThrow('struck');
      const operator = await killed.postgres.connect('barista');
      await operator.query('CHECKPOINT');
      const again = await crash(killed);
      expect(again.started).toMatchObject({ code: 'inexact', pointer: 11, reason: 'openTransactions' });
      return again;
    });
  });
});

describe('a session that ends', () => {
  it('with PostgreSQL is no answer: the request is executed again', async () => {
    const machine = await make();
    const ask = queries();
    try {
      const log = [openOf('a'), ask('a', 'CREATE TABLE t (a int, b bigint)')];
      await execute(machine, log);
      const text = await readFile(join(machine.postgres.data, 'postmaster.pid'), 'utf8');
      setTimeout(() => process.kill(Number(text.split('\n')[0]), 'SIGKILL'), 300);
      const sleeps = ask('a', 'INSERT INTO t SELECT 1, 1 FROM pg_sleep(5)');
      await expect(machine.executor.execute(3 as Slot, sleeps)).rejects.toMatchObject({
        name: 'SessionEnded',
      });
      expect(machine.results.has(3)).toBe(false);
    } finally {
      await machine.executor.stop().catch(() => undefined);
      await machine.postgres.remove();
    }
  });
});
