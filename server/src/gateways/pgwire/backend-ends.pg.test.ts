/** A session whose own server process ends: killed, crashed, or terminated by an operator. Its client hears the truth, and the request is not executed again. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Relay, startRelay } from '../../adapters/testing/relay.ts';
import { firstColumn } from '../../pgwire/backend-messages.ts';
import { doorOf, startGateway, type TestGateway } from './testing/gateway.ts';
import { frame } from './testing/frames.ts';
import { ask, fatal, lastWords, leaderAt, q, sleep } from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, describeFrame, type WireClient } from './testing/wire-client.ts';

let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;
let cable: Relay;
const wires: WireClient[] = [];

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query('CREATE ROLE open LOGIN; GRANT ALL ON SCHEMA public TO PUBLIC');
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  // A crash ends the connection on which it would be asked for transactions.
  leader = await startGateway(pg, { service: createMemoryClientService(doorOf(pg)) });
  cable = await startRelay(leader.connection.port);
  const service = createMemoryClientService(null);
  service.setService(leaderAt(cable.port));
  follower = await startGateway(pg, { service, limits: { keepWaitMs: 20_000 } });
});
afterEach(async () => {
  for (const wire of wires.splice(0)) wire.close();
  await follower.listener.close();
  cable.close();
  await leader.listener.close();
});

async function connectTo({ connection }: TestGateway): Promise<WireClient> {
  const wire = await connectWire({ ...connection, user: 'open' });
  wires.push(wire);
  return wire;
}

async function pidOf(wire: WireClient): Promise<number> {
  wire.send(q('SELECT pg_backend_pid()'));
  const all = await wire.until('Z');
  const row = all.find(({ type }) => type === 'D');
  const pid = Number(row === undefined ? null : firstColumn(row.bytes));
  expect(pid).toBeGreaterThan(1);
  return pid;
}

/** A session is in this state. Asked on a connection of its own: a crash ends those of before. */
async function until(state: string): Promise<void> {
  const operator = await pg.connect();
  const look = async (): Promise<number | null> =>
    (await operator.query(`SELECT FROM pg_stat_activity WHERE ${state}`)).rowCount;
  await expect.poll(look).toBe(1);
  await operator.end();
}

/** To be called ahead of a crash. The returned function waits until PostgreSQL has ended all sessions, and serves again. */
async function expectCrash(): Promise<() => Promise<void>> {
  const probe = await pg.connect();
  const gone = new Promise((resolve) => probe.once('end', resolve));
  const serves = async (): Promise<boolean> => {
    const again = await pg.connect().catch(() => null);
    await again?.end();
    return again !== null;
  };
  return async () => {
    await gone;
    await expect.poll(serves, { interval: 20 }).toBe(true);
  };
}

describe('a server process that is killed in the middle of a request', () => {
  it('ends its session, and the request is not executed again; another session is kept', async () => {
    const wire = await connectTo(follower);
    const other = await connectTo(follower);
    const pid = await pidOf(wire);
    const otherPid = await pidOf(other);
    wire.send(q('SELECT pg_sleep(300)'));
    await until("wait_event = 'PgSleep'");
    const recovered = await expectCrash();
    process.kill(pid, 'SIGKILL');
    const [words] = (await wire.untilClosed()).map(describeFrame);
    expect(words).toContain('V=FATAL C=08007');
    expect(words).toContain('the server process of this session ended unexpectedly');
    await recovered();
    expect(await pidOf(other)).not.toBe(otherPid);
    expect(follower.listener.measures()).toMatchObject({ requestsRepeated: 0, requestsNotRepeated: 1 });
  });

  it('a statement that crashes PostgreSQL does so once', async () => {
    const wire = await connectTo(follower);
    await ask(wire, q('CREATE TABLE h (a int) PARTITION BY HASH (a)'));
    const crash = "SELECT satisfies_hash_partition('h'::regclass, 4, 0, VARIADIC NULL::int[])";
    const recovered = await expectCrash();
    wire.send(q(crash));
    expect(await lastWords(wire)).toEqual([fatal('08007')]);
    await recovered();
    const inBlock = await connectTo(follower);
    await ask(inBlock, q('BEGIN'));
    const recoveredAgain = await expectCrash();
    inBlock.send(q(crash));
    const [words] = (await inBlock.untilClosed()).map(describeFrame);
    expect(words).toContain('V=FATAL C=57P02');
    expect(words).toContain('D=The transaction in progress was not committed.');
    await recoveredAgain();
    expect(follower.listener.measures()).toMatchObject({ requestsRepeated: 0 });
  });

  it('where PostgreSQL ends every session, reads of the others are executed again', async () => {
    const wire = await connectTo(follower);
    const locker = await pg.connect();
    await locker.query('CREATE TABLE held (a int); GRANT ALL ON held TO open');
    await locker.query('BEGIN; LOCK TABLE held');
    wire.send(q('SELECT count(*) + 7 FROM held'));
    await until("wait_event_type = 'Lock'");
    const { rows } = await locker.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    process.kill(rows[0]!.pid, 'SIGKILL');
    const types = (await wire.until('Z')).map(({ type }) => type).filter((type) => type !== 'N');
    expect(types).toEqual(['T', 'D', 'C', 'Z']);
    expect(follower.listener.measures()).toMatchObject({ requestsRepeated: 1, requestsNotRepeated: 0 });
  });
});

describe('pg_terminate_backend', () => {
  /** What a session does in the moment of its end, and for how long it did so. */
  const doings: readonly (readonly [string, readonly string[]])[] = [
    ['nothing', []],
    ['a read', ['SELECT 1']],
    ['a statement that sets something', ["SET work_mem = '7MB'"]],
    ['a write', ['CREATE TEMP TABLE x AS SELECT 1']],
    ['a block', ['BEGIN', 'CREATE TEMP TABLE x AS SELECT 1', 'COMMIT']],
    ['a roll-back', ['BEGIN', 'SELECT pg_sleep(0.002)', 'ROLLBACK']],
  ];
  const roundsOfEach = 12;

  it.each(['leader', 'follower'] as const)(
    'at any moment: the client of the %s hears 57P01 and nothing of a change',
    async (where) => {
      const operator = await pg.connect();
      const heard: string[] = [];
      for (const [what, statements] of doings) {
        for (let round = 0; round < roundsOfEach; round += 1) {
          const wire = await connectTo(where === 'leader' ? leader : follower);
          const pid = await pidOf(wire);
          const ended = operator.query('SELECT pg_terminate_backend($1)', [pid]);
          for (let turn = 0; turn < round; turn += 1) await new Promise((resolve) => setImmediate(resolve));
          for (const statement of statements) {
            if (round % 3 === 2) await sleep(1);
            wire.send(q(statement));
          }
          await ended;
          // One that lives on answers this.
          wire.send(q("SELECT 'lives on'"), frame('X'));
          const words = (await wire.untilClosed()).map(describeFrame).at(-1) ?? 'nothing';
          heard.push(`${what}: ${words}`);
        }
      }
      const expected = 'E V=FATAL C=57P01 M=terminating connection due to administrator command';
      expect(heard.filter((line) => !line.endsWith(expected))).toEqual([]);
    },
  );

  it('while it sends rows: the client of a follower hears so, and no other session is given to it', async () => {
    const operator = await pg.connect();
    const heard: string[] = [];
    for (let round = 0; round < 8; round += 1) {
      const wire = await connectTo(follower);
      const pid = await pidOf(wire);
      wire.send(q("SELECT repeat('x', 500) FROM generate_series(1, 100000)"));
      await wire.until('D', 1_000);
      await operator.query('SELECT pg_terminate_backend($1)', [pid]);
      wire.send(q("SELECT 'lives on'"), frame('X'));
      heard.push((await wire.untilClosed()).map(describeFrame).at(-1) ?? 'nothing');
    }
    await operator.end();
    expect(heard.filter((words) => !/^E V=FATAL C=(57P01|57P02|08007) /.test(words))).toEqual([]);
  });
});
