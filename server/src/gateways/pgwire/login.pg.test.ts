/** Who a client is: proved to the gateway, at the leader and at a follower, and what becomes of those that do not prove it. */
import { connect } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { doorOf, startGateway, type TestGateway } from './testing/gateway.ts';
import { ask, backends, codeOf, failure, leaderAt, q } from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { saslAnswer, saslChoice, ScramClient } from './testing/scram-client.ts';
import { describeFrame, followWire, type WireClient } from './testing/wire-client.ts';
import { startup } from './testing/startup.ts';

let pg: TestPostgres;
let gateway: TestGateway;
let infos: { reason?: string }[];
let wires: WireClient[] = [];

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query(`
    CREATE ROLE anna LOGIN PASSWORD 'anna';
    CREATE ROLE late LOGIN PASSWORD 'late' VALID UNTIL '2001-01-01';
    CREATE ROLE early LOGIN PASSWORD 'early' VALID UNTIL 'infinity';
    CREATE ROLE bare LOGIN;
    CREATE ROLE open LOGIN;
    CREATE ROLE away PASSWORD 'away' NOLOGIN;
    CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 0;
    CREATE ROLE "größe" LOGIN PASSWORD 'größe';
    SET password_encryption = 'md5';
    CREATE ROLE old LOGIN PASSWORD 'old'`);
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  infos = [];
  gateway = await startGateway(pg, { onInfo: (fields) => infos.push(fields) });
});
afterEach(async () => {
  for (const wire of wires) wire.close();
  wires = [];
  await gateway.listener.close();
});

async function logIn(change: ClientConfig, to = gateway): Promise<unknown> {
  const client = new Client({ ...to.connection, ...change });
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query('SELECT session_user AS u, current_user AS c');
  await client.end();
  return rows[0];
}

function wireTo(to = gateway): WireClient {
  const wire = followWire(connect(to.connection.port, '127.0.0.1'));
  wires.push(wire);
  return wire;
}

/** Goes as far as the server's first words. */
async function beginScram(
  role: string,
  said: ScramClient,
  to = gateway,
): Promise<{ wire: WireClient; first: string }> {
  const wire = wireTo(to);
  wire.send(startup({ user: role, database: 'barista' }));
  await wire.until('R');
  wire.send(saslChoice('SCRAM-SHA-256', said.first));
  const [frame] = await wire.until('R');
  return { wire, first: frame?.bytes.toString('latin1', 9) ?? '' };
}

async function refusal(wire: WireClient): Promise<string> {
  return (await wire.untilClosed()).map(describeFrame).join(' | ');
}

describe('a client', () => {
  it.each(['anna', 'early', 'größe'])('is let in as whom it has proved to be: %s', async (name) => {
    expect(await logIn({ user: name, password: name })).toEqual({ u: name, c: name });
  });

  it.each([
    ['anna', 'the password is wrong'],
    ['nobody', 'there is no such role'],
    ['late', 'the password is no longer valid (VALID UNTIL)'],
    ['bare', 'the role has no password'],
    ['old', 'the password is not kept for SCRAM-SHA-256 (perhaps for md5): set it again'],
  ])('that does not prove itself hears 28P01, and the operator hears why: %s', async (user, reason) => {
    const password = user === 'anna' ? 'wrong' : user;
    const told = await failure(logIn({ user, password }));
    expect([told.code, told.message]).toEqual(['28P01', `password authentication failed for user "${user}"`]);
    expect(infos).toEqual([{ role: user, address: '127.0.0.1', reason }]);
    expect(await backends(pg)).toBe(0);
  });

  it('hears from PostgreSQL what PostgreSQL decides', async () => {
    expect(await codeOf(logIn({ user: 'away', password: 'away' }))).toBe('28000');
    expect(await codeOf(logIn({ user: 'few', password: 'few' }))).toBe('53300');
  });

  it('cannot go back to a role that it has not proved to be', async () => {
    const client = await gateway.client({ user: 'anna', password: 'anna' });
    expect(await codeOf(client.query('SET SESSION AUTHORIZATION postgres'))).toBe('42501');
    for (const sql of ['RESET SESSION AUTHORIZATION', 'RESET ROLE', 'DISCARD ALL']) await client.query(sql);
    expect((await client.query('SELECT session_user AS u')).rows).toEqual([{ u: 'anna' }]);
    await client.end();
  });

  it('is not taken for another role, whose name is only read like its own', async () => {
    await pg.superuser.query(
      "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
    );
    const latin = await pg.connect('latin');
    await latin.query("SET client_encoding = 'UTF8'; CREATE ROLE \"bö\" LOGIN SUPERUSER PASSWORD 'secret'");
    await latin.end();
    // The byte of that role's name which is no UTF-8, as whoever reads it as UTF-8 has it.
    await pg.superuser.query(
      `SET password_encryption = 'scram-sha-256'; CREATE ROLE "b\uFFFD" LOGIN PASSWORD 'mine'`,
    );
    expect(await logIn({ user: 'b\uFFFD', password: 'mine' })).toEqual({ u: 'b\uFFFD', c: 'b\uFFFD' });
    const wire = wireTo();
    const packet = startup({ user: 'b?', database: 'barista' });
    wire.send(Buffer.from(packet.map((byte) => (byte === '?'.charCodeAt(0) ? 0xf6 : byte))));
    expect(await refusal(wire)).toMatch(/^E V=FATAL C=28000/);
  });

  it('that names two roles is asked about the one that PostgreSQL would take', async () => {
    const wire = wireTo();
    wire.send(startup({ user: 'anna', database: 'barista' }, { user: 'open' }));
    expect((await wire.until('R'))[0]?.bytes.readInt32BE(5)).toBe(0);
    const other = wireTo();
    other.send(startup({ user: 'open', database: 'barista' }, { user: 'anna' }));
    expect((await other.until('R'))[0]?.bytes.readInt32BE(5)).toBe(10);
  });

  it('cannot tell a role that is not there from one that is, nor from one time to the next', async () => {
    const firsts: string[] = [];
    for (const role of ['nobody', 'nobody', 'anna', 'anna', 'no one']) {
      const { wire, first } = await beginScram(role, new ScramClient({ password: 'x' }));
      expect(first).toMatch(/^r=[^,]{48},s=[A-Za-z0-9+/]{22}==,i=4096$/);
      firsts.push(first.slice(first.indexOf(',s=')));
      wire.close();
    }
    expect(firsts[0]).toBe(firsts[1]);
    expect(firsts[2]).toBe(firsts[3]);
    expect(firsts[0]).not.toBe(firsts[4]);
  });

  it('may wait to be asked for its first message', async () => {
    const client = new ScramClient({ password: 'anna' });
    const wire = wireTo();
    wire.send(startup({ user: 'anna', database: 'barista' }));
    await wire.until('R');
    wire.send(Buffer.from([0x70, 0, 0, 0, 22, ...Buffer.from('SCRAM-SHA-256\0'), 255, 255, 255, 255]));
    await wire.until('R');
    wire.send(saslAnswer(client.first));
    const [frame] = await wire.until('R');
    wire.send(saslAnswer(client.final(frame?.bytes.toString('latin1', 9) ?? '')));
    expect((await ask(wire, q('SELECT session_user'))).join()).toContain('anna');
  });
});

describe('a hostile client', () => {
  it.each([
    ['a query', q('SELECT 1'), '08P01'],
    ['the end', Buffer.from([0x58, 0, 0, 0, 4]), '08P01'],
    ['a length below any', Buffer.from([0x70, 0, 0, 0, 3]), '08P01'],
    ['a length beyond all', Buffer.from([0x70, 0x7f, 0xff, 0xff, 0xff]), '08P01'],
    ['nothing', saslAnswer(''), '08P01'],
    ['no mechanism that there is', saslChoice('PLAIN', '\0anna\0anna'), '08P01'],
    ['binding without TLS', saslChoice('SCRAM-SHA-256-PLUS', 'p=tls-server-end-point,,n=,r=abc'), '08P01'],
    ['a length that lies', saslAnswer('SCRAM-SHA-256\0\0\0\0\x7fn,,n=,r=abc'), '08P01'],
    ['a cleartext password', saslAnswer('anna\0'), '08P01'],
    ['another authorization', saslChoice('SCRAM-SHA-256', 'n,a=postgres,n=,r=abc'), '0A000'],
    ['a first message of a kilobyte', saslChoice('SCRAM-SHA-256', `n,,n=,r=${'x'.repeat(1_100)}`), '08P01'],
  ])('ends its own connection alone with %s', async (_, bytes, code) => {
    const wire = wireTo();
    wire.send(startup({ user: 'anna', database: 'barista' }));
    await wire.until('R');
    wire.send(bytes);
    expect(await refusal(wire)).toMatch(new RegExp(`^E V=FATAL C=${code} `));
    expect(await backends(pg)).toBe(0);
    await expect.poll(() => gateway.listener.strangers).toBe(0);
  });

  it.each([
    (text: string) => text.replace(/r=.*/, 'r=abc'),
    (text: string) => text.replace('c=biws', 'c=eSws'),
    () => '',
  ])('that answers what it was not asked is refused: %#', async (spoil) => {
    const client = new ScramClient({ password: 'anna' });
    const { wire, first } = await beginScram('anna', client);
    wire.send(saslAnswer(client.final(first, spoil)));
    expect(await refusal(wire)).toContain('C=08P01');
  });

  it('gains nothing by saying again what it has overheard', async () => {
    const client = new ScramClient({ password: 'anna', nonce: 'always the same'.replaceAll(' ', '') });
    const { wire, first } = await beginScram('anna', client);
    const final = saslAnswer(client.final(first));
    wire.send(final);
    await wire.until('Z');
    const again = await beginScram('anna', client);
    again.wire.send(final);
    expect(await refusal(again.wire)).toContain('C=08P01');
  });

  it('that takes itself for a gateway is none', async () => {
    const wire = wireTo();
    const mark = `4.${Buffer.alloc(16).toString('base64url')}`;
    wire.send(startup({ user: 'anna', database: 'barista', '_pq_.barista_tunnelled': mark }));
    await wire.until('R');
    wire.send(
      saslAnswer(`${'x'.repeat(32)}{"isProven":true,"address":"","isEncrypted":false,"endpoint":null}`),
    );
    expect(await refusal(wire)).toMatch(/^E V=FATAL C=28000 .*cluster secret/);
  });
});

describe('a client of a follower', () => {
  let follower: TestGateway;
  beforeEach(async () => {
    const service = createMemoryClientService(null);
    service.setService(leaderAt(gateway.connection.port));
    service.setStandby(doorOf(pg));
    follower = await startGateway(pg, { service, onInfo: (fields) => infos.push(fields) });
  });
  afterEach(async () => {
    await follower.listener.close();
  });

  it('proves itself to the follower, whose word the leader takes', async () => {
    gateway.service.setDoor({ ...doorOf(pg), findLogin: () => Promise.reject(new Error('not to be asked')) });
    expect(await logIn({ user: 'anna', password: 'anna' }, follower)).toEqual({ u: 'anna', c: 'anna' });
    expect(await codeOf(logIn({ user: 'anna', password: 'wrong' }, follower))).toBe('28P01');
    expect(await codeOf(logIn({ user: 'nobody', password: 'x' }, follower))).toBe('28P01');
  });

  it.each<[string, () => void]>([
    ['is not there', (): void => follower.service.setStandby(null)],
    ...(['behind', 'noAnswer'] as const).map((code): [string, () => void] => [
      `is ${code}, and does not know the role yet`,
      (): void => {
        const stranger = { isKnown: false, secret: null, isExpired: false, iterations: 4096 };
        follower.service.setStandby({ ...doorOf(pg), findLogin: () => Promise.resolve(stranger) });
        follower.service.mayRead = () => Promise.resolve({ code, staleMs: null });
      },
    ]),
    [
      'cannot be asked',
      (): void =>
        follower.service.setStandby({ ...doorOf(pg), findLogin: () => Promise.reject(new Error('away')) }),
    ],
  ])('proves itself to the leader where the standby %s', async (_, spoil) => {
    spoil();
    expect(await logIn({ user: 'anna', password: 'anna' }, follower)).toEqual({ u: 'anna', c: 'anna' });
    expect(await codeOf(logIn({ user: 'anna', password: 'wrong' }, follower))).toBe('28P01');
    expect(infos).toEqual([{ role: 'anna', address: '127.0.0.1', reason: 'the password is wrong' }]);
  });

  it('is judged by the rules of the follower', async () => {
    const strict = await startGateway(pg, { access: [] });
    follower.service.setService(leaderAt(strict.connection.port));
    const anna = { user: 'anna', password: 'anna' };
    expect(await codeOf(logIn(anna, strict))).toBe('28000');
    expect(await logIn(anna, follower)).toEqual({ u: 'anna', c: 'anna' });
    expect(await logIn({ user: 'open' }, follower)).toEqual({ u: 'open', c: 'open' });
    follower.service.setStandby(null);
    expect(await logIn(anna, follower)).toEqual({ u: 'anna', c: 'anna' });
    await strict.listener.close();
  });

  it('cannot be a reserved role at the leader, whatever the follower says', async () => {
    const { service } = follower;
    const careless = await startGateway(pg, {
      service,
      access: [{ database: 'all', role: 'all', address: 'all', tls: 'any', method: 'trust' }],
    });
    expect(await codeOf(logIn({ user: 'postgres' }, careless))).toBe('28000');
    await careless.listener.close();
  });

  it('is served by no leader of another cluster', async () => {
    const stranger = await startGateway(pg, { clusterSecret: 'another secret' });
    follower.service.setService(leaderAt(stranger.connection.port));
    const told = await failure(logIn({ user: 'anna', password: 'anna' }, follower));
    expect([told.code, told.detail]).toEqual([
      '08001',
      'the server there does not know the cluster secret, or a proxy in between has another certificate',
    ]);
    await stranger.listener.close();
  });
});

describe('rules', () => {
  it('that reject, or are not there, are told with 28000', async () => {
    const rule = { database: 'all', role: 'all', address: 'all', tls: 'any' } as const;
    const strict = await startGateway(pg, {
      access: [
        { ...rule, role: 'anna', method: 'reject' },
        { ...rule, tls: 'required', method: 'scram' },
        { ...rule, role: 'early', method: 'certificate' },
      ],
    });
    const words = async (user: string): Promise<string> => {
      const { code, message } = await failure(logIn({ user, password: user }, strict));
      return `${code} ${message}`;
    };
    const who = (user: string): string =>
      `host "127.0.0.1", user "${user}", database "barista", no encryption`;
    expect(await words('anna')).toBe(`28000 pgwire.access rejects connection for ${who('anna')}`);
    expect(await words('late')).toBe(`28000 no pgwire.access entry for ${who('late')}`);
    expect(await words('early')).toBe('28000 certificate authentication failed for user "early"');
    await strict.listener.close();
  });
});
