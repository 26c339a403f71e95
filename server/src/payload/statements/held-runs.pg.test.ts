/** A request without end at a real PostgreSQL, which catches its cancel: the executor comes to its end all the same, and goes on behind it. */
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { openStatementDatabase } from '../../adapters/postgres/statements/own-database.ts';
import { systemClock } from '../../adapters/system-clock.ts';
import type { GroupId, Slot } from '../../multipaxos/types/names.ts';
import type { OperationResult } from './executor.ts';
import { HeldRuns, type RunRecord } from './held-runs.ts';
import { encodeOperation, type Operation } from './operation.ts';
import { SerialExecutor } from './serial-executor.ts';
import {
  answerBytesMax,
  openOf,
  queries,
  secret,
  startStatementPostgres,
  words,
} from './testing/statement-replica.ts';

const endless = `DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(60); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$`;
/** PostgreSQL 18.4 crashes of it. */
const crashing = "SELECT satisfies_hash_partition('h'::regclass, 4, 0, VARIADIC NULL::int[])";

async function comesBack<T>(begin: () => Promise<T>): Promise<T> {
  for (;;) {
    const begun = await begin().catch(() => null);
    if (begun !== null) return begun;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

it('fails, outside of a block and within, and what is behind it is executed', async () => {
  const postgres = await startStatementPostgres();
  const log: Operation[] = [];
  const submitted = new Set<string>();
  const results = new Map<number, OperationResult>();
  let record: RunRecord = { held: [], at: null };
  const heldRuns = new HeldRuns({
    self: 'r1',
    replicas: ['r1'],
    record,
    write: (next) => {
      record = next;
      return Promise.resolve();
    },
    endOfLog: 0 as Slot,
    longestMs: 1_500,
    timers: systemClock,
    log: {
      get settledTo() {
        return log.length as Slot;
      },
      readChosen: (from, to) =>
        Promise.resolve(
          log.slice(from - 1, to).map((operation, index) => ({
            kind: 'command',
            group: 'g' as GroupId,
            proposal: { client: 'c', request: index },
            payload: encodeOperation(operation),
          })),
        ),
    },
    submit: (key, operation) => {
      if (!submitted.has(key)) log.push(operation);
      submitted.add(key);
    },
    isWhole: () => true,
    logger: pino({ level: 'silent' }),
  });
  const begin = async (): Promise<SerialExecutor> => {
    const { socketDir } = postgres;
    const executor = new SerialExecutor({
      database: await openStatementDatabase({
        socketDir,
        secret,
        messageBytesMax: answerBytesMax,
        isAfterCrash: false,
      }),
      timers: systemClock,
      answerBytesMax,
      sessionsMax: 10,
      heldRuns,
      listener: { finished: (slot, _, result) => results.set(slot, result), atRest: () => Promise.resolve() },
    });
    expect((await executor.start()).code).toBe('exact');
    return executor;
  };
  let executor = await begin();
  const said = (slot: number): string => words(results.get(slot)?.answer ?? Buffer.alloc(0));
  const upTo = async (end: number): Promise<void> => {
    for (let slot = executor.pointer + 1; slot <= end; slot += 1)
      await executor.execute(slot as Slot, log[slot - 1]!);
  };
  try {
    const ask = queries();
    log.push(
      openOf('a'),
      ask('a', 'CREATE TABLE t (a int)'),
      ask('a', `INSERT INTO t VALUES (1); ${endless}`),
    );
    log.push(ask('a', 'INSERT INTO t VALUES (2)'));
    await expect(upTo(4)).rejects.toThrow('was given up');
    const stoppedAtMs = performance.now();
    await executor.stop();
    expect(performance.now() - stoppedAtMs).toBeLessThan(4_000);
    executor = await begin();
    await upTo(4);
    expect([said(3), said(4)]).toEqual(['!57014 I', 'INSERT 0 1 I']);
    expect(log[4]).toMatchObject({ kind: 'hold', run: { slot: 3, turn: 0, round: 0 }, replica: 'r1' });
    await upTo(5);
    log.push(ask('a', 'BEGIN'), ask('a', 'INSERT INTO t VALUES (3)'), ask('a', endless));
    log.push(ask('a', 'INSERT INTO t VALUES (4)'), ask('a', 'ROLLBACK'), ask('a', 'SELECT a FROM t'));
    await expect(upTo(11)).rejects.toThrow('was given up');
    await executor.stop();
    executor = await begin();
    await upTo(11);
    expect([8, 9, 10, 11].map(said)).toEqual(['!57014 E', '!25P02 E', 'ROLLBACK I', '(2) SELECT 1 I']);
    const behind = log.length;
    log.push(ask('a', 'CREATE TABLE h (a int) PARTITION BY HASH (a)'), ask('a', crashing));
    log.push(ask('a', 'SELECT a FROM t'));
    for (let time = 0; time < 2; time += 1) {
      await expect(upTo(behind + 2)).rejects.toThrow('session');
      await executor.stop();
      // PostgreSQL comes back by itself.
      executor = await comesBack(begin);
    }
    await upTo(behind + 3);
    expect([1, 2, 3].map((at) => said(behind + at))).toEqual([
      'CREATE TABLE I',
      '!57014 I',
      '(2) SELECT 1 I',
    ]);
    // Clocks that a database gives, or the client itself, end no session.
    const timed = log.length;
    log.push(
      ask('a', 'CREATE DATABASE timed'),
      ask('a', "ALTER DATABASE timed SET transaction_timeout = '1ms'"),
      ask('a', "ALTER DATABASE timed SET idle_session_timeout = '1ms'"),
    );
    log.push(
      { ...openOf('b'), database: 'timed', parameters: [['options', '-c idle_session_timeout=1']] },
      { ...openOf('c'), parameters: [['statement_timeout', '1']] },
    );
    log.push(ask('b', 'SELECT 7 AS a'), ask('c', 'SELECT a FROM t'));
    await upTo(timed + 7);
    expect([6, 7].map((at) => said(timed + at))).toEqual(['(7) SELECT 1 I', '(2) SELECT 1 I']);
  } finally {
    heldRuns.stop();
    await executor.stop().catch(() => undefined);
    await postgres.stop();
  }
});
