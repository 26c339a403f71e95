/** The end of a leadership, of PostgreSQL, of a session: what becomes of a client's transaction, and what the client is told. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as send from '../../pgwire/frontend-messages.ts';
import { frame } from './testing/frames.ts';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import {
  ask,
  backends,
  elsewhere,
  endSleeping,
  fatal,
  holdCommits,
  keys,
  lastWords,
  q,
  run,
  sleep,
  sleeping,
  untilCommitsWait,
  waitingCommits,
  withholdTransactions,
} from './testing/helpers.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, describeFrame, type WireClient } from './testing/wire-client.ts';

let pg: TestPostgres;
let gateway: TestGateway;
let wire: WireClient;
let letCommitsGo: (() => Promise<void>) | null = null;
/** The gateway learns which transaction the session has open. */
let transactionIsKnown: () => Promise<void>;

beforeAll(async () => {
  pg = await startTestPostgres();
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  gateway = await startGateway(pg, { limits: { lateMs: 50 } });
  transactionIsKnown = withholdTransactions(gateway.service);
  wire = await connectWire(gateway.connection);
  await ask(wire, q('CREATE TABLE t (a int PRIMARY KEY)'));
});
afterEach(async () => {
  await letCommitsGo?.();
  letCommitsGo = null;
  wire.close();
  await gateway.listener.close();
  await endSleeping(pg);
  await pg.superuser.query('DROP TABLE IF EXISTS t');
});

const insert = 'INSERT INTO t VALUES (1)';

/** Sends, and waits until PostgreSQL waits for its standby. */
async function commitThatWaits(...messages: readonly Buffer[]): Promise<void> {
  letCommitsGo = await holdCommits(pg);
  wire.send(...messages);
  await untilCommitsWait(pg, 1);
}

describe('when leadership ends', () => {
  it('an idle session hears 57P01, one in a transaction that it was not committed', async () => {
    const open = await connectWire(gateway.connection);
    await ask(open, q(`BEGIN; ${insert}`));
    gateway.service.setService(elsewhere);
    const idle = (await wire.untilClosed()).map(describeFrame);
    expect(idle).toEqual([
      'E V=FATAL C=57P01 M=terminating connection: this replica is no longer the leader; reconnect',
    ]);
    const inBlock = (await open.untilClosed()).map(describeFrame);
    expect(inBlock).toEqual([`${idle[0]} D=The transaction in progress was not committed.`]);
    expect(await keys(pg)).toEqual([]);
    expect(gateway.service.asked).toEqual([]);
  });

  it.each([
    ['a statement', [q('SELECT pg_sleep(20)')]],
    ['a pipeline', [run('SELECT pg_sleep(20)'), send.sync]],
    ['a roll-back', [q('SELECT pg_sleep(20)'), q('ROLLBACK')]],
  ])('%s in a block was not committed: 57P01', async (_, messages) => {
    await ask(wire, q(`BEGIN; ${insert}`));
    wire.send(...messages);
    await expect.poll(() => sleeping(pg)).toBe(1);
    gateway.service.setService(elsewhere);
    const words = (await wire.untilClosed()).map(describeFrame);
    expect(words).toHaveLength(1);
    expect(words[0]).toContain('C=57P01');
    expect(words[0]).toContain('was not committed');
    expect(gateway.service.asked).toEqual([]);
  });

  it.each([
    ['committed', ['C COMMIT\\0', 'Z I', fatal('57P01')]],
    ['notCommitted', [fatal('40001')]],
    ['unknown', [fatal('08007')]],
  ] as const)('a COMMIT that waits and is %s is told', async (outcome, words) => {
    gateway.service.outcome = outcome;
    await ask(wire, q(`BEGIN; ${insert}`));
    await commitThatWaits(q('COMMIT'));
    await transactionIsKnown();
    gateway.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual(words);
    expect(gateway.service.asked).toMatchObject([{ leadership: { round: 1, replica: 'test' } }]);
  });

  it('nothing is said of the COMMIT of a client that has spoken of what acts elsewhere', async () => {
    gateway.service.outcome = 'notCommitted';
    await ask(wire, q('SET barista.effects_elsewhere = on'));
    await ask(wire, q(`BEGIN; ${insert}`));
    await commitThatWaits(q('COMMIT'));
    await transactionIsKnown();
    gateway.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual([fatal('08007')]);
  });

  it.each([
    ['committed', [fatal('RQ001')]],
    ['notCommitted', [fatal('40001')]],
  ] as const)(
    'of a statement of its own that is %s the answer is lost, but not the outcome',
    async (outcome, words) => {
      gateway.service.outcome = outcome;
      await commitThatWaits(run('INSERT INTO t VALUES (1) RETURNING a'), send.sync);
      await transactionIsKnown();
      gateway.service.setService(elsewhere);
      expect(await lastWords(wire)).toEqual(words);
    },
  );

  it('what cannot be told apart is unknown, though a transaction is known', async () => {
    gateway.service.outcome = 'committed';
    await ask(wire, q('BEGIN; INSERT INTO t VALUES (0)'));
    await commitThatWaits(q(`${insert}; COMMIT; SELECT 1`));
    await sleep(200);
    gateway.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual([fatal('08007')]);
    expect(gateway.service.asked).toEqual([]);
    expect(gateway.service.calls.openTransactions).toBe(0);
  });

  it('PostgreSQL takes statements for the same whose names are alike for 63 bytes, and so does the gateway', async () => {
    const statement = 'x'.repeat(63);
    await ask(wire, q('BEGIN'), send.parse(`${statement}a`, 'COMMIT'), send.sync);
    await wire.until('Z');
    letCommitsGo = await holdCommits(pg);
    await ask(wire, q(insert));
    wire.send(send.bind({ portal: '', statement: `${statement}b` }), send.execute(''), send.sync);
    await untilCommitsWait(pg, 1);
    await transactionIsKnown();
    gateway.service.outcome = 'committed';
    gateway.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual([fatal('RQ001')]);
  });

  it.each([
    [
      'the COMMIT behind a COPY',
      [q('COPY t FROM STDIN'), frame('d', '1\n'), frame('c'), run('COMMIT'), send.sync],
    ],
    ['a COMMIT that was bound before', [send.execute(''), send.sync]],
  ])('%s, sent without waiting, is not taken for nothing', async (_, messages) => {
    await ask(wire, q('BEGIN; INSERT INTO t VALUES (0)'));
    await ask(wire, send.parse('', 'COMMIT'), send.bind({ portal: '', statement: '' }), send.sync);
    await commitThatWaits(...messages);
    await transactionIsKnown();
    gateway.service.outcome = 'committed';
    gateway.service.setService(elsewhere);
    expect((await lastWords(wire)).at(-1)).toBe(fatal('RQ001'));
  });

  it('a COMMIT whose name another statement was to have, and has not, is not taken for that one', async () => {
    await ask(wire, send.parse('c', 'COMMIT'), send.sync);
    await ask(wire, q('BEGIN; INSERT INTO t VALUES (0); SAVEPOINT a'));
    const refused = await ask(wire, send.parse('c', insert), send.sync);
    expect(refused[0]).toContain('C=42P05');
    await ask(wire, q('ROLLBACK TO a'));
    await commitThatWaits(send.bind({ portal: '', statement: 'c' }), send.execute(''), send.sync);
    gateway.service.setService(elsewhere);
    expect((await lastWords(wire)).at(-1)).toBe(fatal('08007'));
  });

  it('what follows a COPY that failed is not taken for answered by the Syncs that were sent with it', async () => {
    const refuse =
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$";
    await ask(wire, q(refuse));
    await ask(wire, q('CREATE TRIGGER refusing BEFORE INSERT ON t EXECUTE FUNCTION refuse()'));
    const copy = [q('COPY t FROM STDIN'), send.sync, send.sync, frame('c')];
    await commitThatWaits(...copy, q('DROP FUNCTION refuse CASCADE'));
    gateway.service.setService(elsewhere);
    expect((await lastWords(wire)).at(-1)).toBe(fatal('08007'));
  });

  it('what follows a BEGIN that failed is not taken for a part of its block', async () => {
    await commitThatWaits(q('BEGIN ISOLATION LEVEL nonsense'), q(insert));
    gateway.service.setService(elsewhere);
    expect((await lastWords(wire)).at(-1)).toBe(fatal('08007'));
    await letCommitsGo?.();
    await expect.poll(() => keys(pg)).toEqual([1]);
  });

  it('a commit whose transaction is not known yet is unknown', async () => {
    const quick = await startGateway(pg, { limits: { lateMs: 60_000 } });
    wire.close();
    wire = await connectWire(quick.connection);
    await commitThatWaits(q(insert));
    quick.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual([fatal('08007')]);
    await quick.listener.close();
  });

  it('an answer that PostgreSQL has given, but that could not leave, is in doubt like one that it has not', async () => {
    gateway.service.holdAnswers();
    wire.send(q(insert));
    await expect.poll(() => keys(pg)).toEqual([1]);
    await sleep(50);
    gateway.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual([fatal('08007')]);
  });

  it('a transaction that was answered is not doubted any more', async () => {
    gateway.service.outcome = 'committed';
    letCommitsGo = await holdCommits(pg);
    wire.send(q(insert));
    await untilCommitsWait(pg, 1);
    await transactionIsKnown();
    await letCommitsGo();
    await wire.until('Z');
    gateway.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual([fatal('57P01')]);
    expect(gateway.service.asked).toEqual([]);
  });

  it('the next transaction is not taken for one that was answered', async () => {
    gateway.service.outcome = 'committed';
    letCommitsGo = await holdCommits(pg);
    wire.send(q(insert));
    await transactionIsKnown();
    await letCommitsGo();
    await wire.until('Z');
    wire.send(q('SELECT pg_sleep(20)'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    gateway.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual([fatal('08007')]);
    expect(gateway.service.asked).toEqual([]);
  });

  it('no error is put into the middle of a message', async () => {
    wire.send(q("SELECT repeat('x', 100000000)"));
    await wire.until('T');
    wire.socket.pause();
    await sleep(100);
    gateway.service.setService(elsewhere);
    wire.socket.resume();
    expect(await wire.untilClosed()).toEqual([]);
  });

  it('a client that reads is told at once, though another does not read', async () => {
    const deaf = await connectWire(gateway.connection);
    deaf.send(q('SELECT generate_series(1, 1000000)'));
    await deaf.until('T');
    deaf.socket.pause();
    await sleep(200);
    gateway.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual([fatal('57P01')]);
    deaf.close();
  });

  it('a gateway that stops does not wait for what became of it', async () => {
    await ask(wire, q(`BEGIN; ${insert}`));
    await commitThatWaits(q('COMMIT'));
    await transactionIsKnown();
    gateway.service.outcomeOf = () => new Promise(() => {});
    gateway.service.setService(elsewhere);
    await sleep(50);
    const closed = gateway.listener.close();
    expect(await lastWords(wire)).toEqual([fatal('08007')]);
    await closed;
  });
});

describe('when PostgreSQL ends the session', () => {
  it('its own words are passed on, if there are any', async () => {
    await pg.superuser.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'barista'",
    );
    const words = (await wire.untilClosed()).map(describeFrame);
    expect(words).toEqual(['E V=FATAL C=57P01 M=terminating connection due to administrator command']);
  });

  it('a text that merely says FATAL ends nothing', async () => {
    const answer = await ask(wire, q("DO $$ BEGIN RAISE EXCEPTION 'FATAL' USING DETAIL = 'VFATAL'; END $$"));
    expect(answer[0]).toContain('V=ERROR C=P0001 M=FATAL');
    gateway.service.setService(elsewhere);
    expect(await lastWords(wire)).toEqual([fatal('57P01')]);
  });

  it('in the wait of a COMMIT it does not say how that ended: then what became of it is asked', async () => {
    gateway.service.outcome = 'committed';
    await ask(wire, q(`BEGIN; ${insert}`));
    await commitThatWaits(q('COMMIT'));
    await transactionIsKnown();
    await pg.superuser.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'barista'",
    );
    expect(await lastWords(wire)).toEqual(['N V=WARNING C=57P01', 'C COMMIT\\0', 'Z I', fatal('57P01')]);
  });

  it('by a crash, an idle session hears 57P02', async () => {
    const { rows } = await pg.superuser.query("SELECT pid FROM pg_stat_activity WHERE usename = 'barista'");
    const lone = await startTestPostgres();
    const other = await startGateway(lone);
    const idle = await connectWire(other.connection);
    process.kill(lone.pid, 'SIGQUIT');
    expect((await lastWords(idle)).at(-1)).toMatch(/C=57P0[12]/);
    expect(rows).toHaveLength(1);
    await other.listener.close();
    await lone.stop();
  });
});

describe('when the client ends the session', () => {
  it.each(['closes', 'resets'] as const)(
    'one that %s its connection while its COMMIT waits does not end the wait',
    async (how) => {
      await commitThatWaits(q(insert));
      if (how === 'closes') wire.close();
      else wire.socket.resetAndDestroy();
      await sleep(200);
      expect(await waitingCommits(pg)).toBe(1);
      expect(await keys(pg)).toEqual([]);
      await letCommitsGo?.();
      await expect.poll(() => keys(pg)).toEqual([1]);
      await expect.poll(() => backends(pg)).toBe(0);
      await expect.poll(() => gateway.listener.clients).toBe(0);
    },
  );

  it('one that breaks the protocol while its COMMIT waits ends its own session alone', async () => {
    const other = await gateway.client();
    await commitThatWaits(q(insert));
    wire.send(Buffer.from([0x51, 0, 0, 0, 1]));
    expect(await lastWords(wire)).toEqual([fatal('08P01')]);
    expect(await waitingCommits(pg)).toBe(1);
    expect((await other.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await letCommitsGo?.();
    await expect.poll(() => keys(pg)).toEqual([1]);
    await other.end();
  });

  it('what it has sent before it closes its side is still done', async () => {
    wire.socket.end(Buffer.concat([q(insert), q('SELECT 1')]));
    expect((await wire.untilClosed()).map(({ type }) => type).join('')).toBe('CZTDCZ');
    expect(await keys(pg)).toEqual([1]);
  });

  it('a Terminate ends it quietly, with an open transaction or without', async () => {
    for (const sql of ['SELECT 1', `BEGIN; ${insert}`]) {
      const one = await connectWire(gateway.connection);
      await ask(one, q(sql));
      one.send(send.terminate);
      expect(await one.untilClosed()).toEqual([]);
    }
    expect(await keys(pg)).toEqual([]);
    await expect.poll(() => gateway.listener.clients).toBe(1);
  });
});
