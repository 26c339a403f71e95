/** Clients of a leader that hands over: what they have begun is answered, nothing new is begun, and they go on where somebody serves again. */
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { frameOf } from '../../pgwire/backend-messages.ts';
import { front } from '../../pgwire/message-types.ts';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import { ask, backends, leaderAt, q, sleep, sleeping } from './testing/helpers.ts';
import { createMemoryClientService, type MemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, describeFrame } from './testing/wire-client.ts';

const int16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);
const int32 = (value: number): Buffer => Buffer.concat([int16(0), int16(value)]);

let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query(
    "CREATE FUNCTION tenant(v text) RETURNS text LANGUAGE sql AS $$ SELECT set_config('app.tenant', v, false) $$",
  );
});
afterAll(() => pg.stop());
beforeEach(async () => {
  leader = await startGateway(pg);
  const service = createMemoryClientService(null);
  service.setService(leaderAt(leader.connection.port));
  follower = await startGateway(pg, { service });
  await looked(service);
});
afterEach(async () => {
  await follower.listener.close();
  await leader.listener.close();
});

/** The follower knows what functions there are: until then each request may have done anything to its session. */
async function looked(service: MemoryClientService): Promise<void> {
  const { functionsOf } = service;
  const looks = new Promise<void>((resolve) => {
    service.functionsOf = async (...asked) => {
      const found = await functionsOf(...asked);
      setImmediate(() => setImmediate(resolve));
      return found;
    };
  });
  const client = await follower.client();
  await looks;
  await client.end();
}

function drain(): void {
  leader.service.setService({ kind: 'nowhere', reason: 'it hands over', drains: 1 });
}

/** With what its connection was ended; null: it was not. */
function endOf(client: Client): { code: string | null } {
  const end: { code: string | null } = { code: null };
  client.on('error', (error: Error & { code?: string }) => (end.code ??= error.code ?? 'closed'));
  return end;
}

/** Its session has ended, it is told nothing, and has another one when somebody serves. */
async function expectItGoesOn(
  client: Client,
  end: { readonly code: string | null },
  look?: () => Promise<void>,
): Promise<void> {
  await expect.poll(() => backends(pg)).toBe(0);
  const asked = client.query('SELECT 2 AS two');
  await sleep(50);
  expect(await backends(pg)).toBe(0);
  leader.service.setService({ kind: 'here', generation: 2 });
  expect((await asked).rows).toEqual([{ two: 2 }]);
  await look?.();
  expect(end.code).toBeNull();
  await client.end();
}

it.each([
  [
    'a function',
    "CREATE FUNCTION made(n text) RETURNS text LANGUAGE sql AS 'SELECT set_config(n, n, false)'",
    "SELECT made('app.' || 'x')",
    'FUNCTION made',
  ],
  [
    'a view',
    "CREATE VIEW made AS SELECT set_config('app.x', 'y', false); GRANT SELECT ON made TO PUBLIC",
    'SELECT * FROM made',
    'VIEW made',
  ],
  [
    'a text in a parameter',
    'SELECT 1',
    "SELECT query_to_xml('SELECT set_config(''app.' || 'x'', ''y'', false)', true, true, '')",
    null,
  ],
])(
  'a client of a leader that hands over is ended if %s may have set what nobody can name',
  async (_, made, sql, dropped) => {
    await pg.superuser.query(made);
    const client = await leader.client();
    const end = endOf(client);
    await client.query(sql);
    drain();
    await expect.poll(() => backends(pg)).toBe(0);
    leader.service.setService({ kind: 'here', generation: 2 });
    await client.query('SELECT 1').catch(() => undefined);
    expect(end.code).toBe('57P01');
    if (dropped !== null) await pg.superuser.query(`DROP ${dropped}`);
  },
);

it('a client of a leader that hands over is ended if it has called by number what may set, ahead of a statement', async () => {
  const wire = await connectWire(leader.connection);
  await ask(wire, q('SELECT 0'));
  const values = ['app.x', 'y', 'f'].flatMap((value) => [int32(value.length), Buffer.from(value)]);
  const setConfig = Buffer.concat([int32(2078), int16(0), int16(3), ...values, int16(0)]);
  wire.send(Buffer.concat([frameOf(front.functionCall, setConfig), q('SELECT 1')]));
  await wire.until('Z');
  await wire.until('Z');
  drain();
  await expect.poll(() => backends(pg)).toBe(0);
  leader.service.setService({ kind: 'here', generation: 2 });
  wire.send(q('SELECT 2'));
  expect(describeFrame((await wire.until('E')).at(-1)!)).toContain('57P01');
  wire.close();
});

describe.each(['leader', 'follower'] as const)('while the leader hands over, a client of the %s', (which) => {
  const gateway = (): TestGateway => (which === 'leader' ? leader : follower);

  it('that is idle goes on', async () => {
    const client = await gateway().client();
    const end = endOf(client);
    drain();
    await expectItGoesOn(client, end);
  });

  it('has the defaults of its login at the next one', async () => {
    const client = await gateway().client();
    const end = endOf(client);
    await client.query("SET lock_timeout = '1s'");
    await pg.superuser.query("ALTER ROLE barista SET lock_timeout = '9s'");
    drain();
    await expectItGoesOn(client, end, async () => {
      await client.query('RESET lock_timeout');
      expect((await client.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '0' }]);
    });
    await pg.superuser.query('ALTER ROLE barista RESET lock_timeout');
  });

  it('has a setting of its own that a function has made', async () => {
    const client = await gateway().client();
    const end = endOf(client);
    await client.query("SELECT tenant('t1')");
    drain();
    await expectItGoesOn(client, end, async () => {
      const { rows } = await client.query("SELECT current_setting('app.tenant', true) AS tenant");
      expect(rows).toEqual([{ tenant: 't1' }]);
    });
  });

  it('has what it asked answered, and goes on behind it', async () => {
    const client = await gateway().client();
    const end = endOf(client);
    const asked = client.query('SELECT pg_sleep(0.5), 1 AS one');
    await expect.poll(() => sleeping(pg)).toBe(1);
    drain();
    expect((await asked).rows).toMatchObject([{ one: 1 }]);
    await expectItGoesOn(client, end);
  });

  it('ends its transaction first', async () => {
    const client = await gateway().client();
    const end = endOf(client);
    await client.query('BEGIN');
    drain();
    await sleep(100);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    expect(end.code).toBeNull();
    await client.query('COMMIT');
    await expectItGoesOn(client, end);
  });

  it('has a message executed of which only a part had come', async () => {
    const wire = await connectWire(gateway().connection);
    await ask(wire, q('SELECT 0'));
    const whole = q(`SELECT 1 AS one, '${'x'.repeat(20_000)}' AS pad`);
    wire.send(whole.subarray(0, 9_000));
    await sleep(50);
    drain();
    await sleep(100);
    wire.send(whole.subarray(9_000));
    expect((await wire.until('Z')).map(({ type }) => type)).toEqual(['T', 'D', 'C', 'Z']);
    wire.close();
  });

  it('that has just logged in may ask once', async () => {
    // The moment at which it is let in is the leader's.
    const opening = gateway().client();
    await expect.poll(() => leader.listener.clients, { interval: 1 }).toBe(1);
    drain();
    const client = await opening;
    const end = endOf(client);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await expectItGoesOn(client, end);
  });

  it('that comes is not let in before somebody serves again', async () => {
    drain();
    const opening = gateway().client();
    await sleep(100);
    expect(leader.listener.clients).toBe(0);
    leader.service.setService({ kind: 'here', generation: 2 });
    const client = await opening;
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();
  });
});
