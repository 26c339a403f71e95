/**
 * Attacks on the doors of a real cluster, by who has no password and no secret, and by who has one and breaks the protocol.
 *
 * During and after each of them a client logs in and commits at every SQL port, peers and operators are answered, the same replica leads in the same ballot, and what its process holds has not grown beyond a bound.
 * BARISTA_SEED: of the random bytes; it is printed.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownVersions } from '../../server/src/adapters/ws-transport/versions.ts';
import { encodeMessage } from '../../server/src/adapters/ws-transport/message-codec.ts';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import { readDemoSecret } from '../../server/src/demo/data-dir.ts';
import { cancelForBackend } from '../../server/src/gateways/pgwire/codec/startup.ts';
import { startup } from '../../server/src/gateways/pgwire/testing/startup.ts';
import { connectWire, describeFrame } from '../../server/src/gateways/pgwire/testing/wire-client.ts';
import type { GroupId, ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { pgbench } from '../cluster/pg-tools.ts';
import { Random } from '../workload/seeded-random.ts';
import { brokenMessages, brokenStarts, cutMessages, longestMessage, randomBytes } from './broken-sql.ts';
import { connectionsToBeHad, Crowd, type CrowdOptions } from './crowd.ts';
import { closedDoors, type Doors, type Office, officeOf, residentMib } from './damage.ts';
import { brokenWebSockets, intrude } from './intruder.ts';

const seed = Number(process.env['BARISTA_SEED'] ?? Math.floor(Math.random() * 1e9));
/** What the leader's process may hold more than before all attacks, garbage that is not collected yet included. */
const grownMibMax = 150;
/** Of the gateway: connections that have not said what they want (docs/security.md). */
const openingMax = 2000;

let cluster: LocalCluster;
let leader: ReplicaStatus;
let doors: Doors;
let office: Office;
let mibBefore: number;
let secret: string;
const crowds: Crowd[] = [];
/** Behind each attack. */
const grownMibs: number[] = [];

async function crowd(...options: Parameters<typeof Crowd.open>): Promise<Crowd> {
  const opened = await Crowd.open(...options);
  crowds.push(opened);
  return opened;
}

beforeAll(async () => {
  console.log(`BARISTA_SEED=${seed}`);
  cluster = await startCluster();
  leader = await cluster.leader();
  const { pgwirePorts: sql } = cluster;
  const httpPort = new URL(cluster.dashboardUrl).port;
  doors = {
    sql,
    peers: sql.map((port) => port + 100),
    http: sql.map((_, index) => Number(httpPort) + 1 + index),
  };
  const { code, stderr } = await pgbench(sql[0]!, ['-i', '-q']);
  if (code !== 0) throw new Error(stderr);
  secret = (await readDemoSecret(cluster.dataDir))!;
  office = await officeOf(cluster);
  mibBefore = await residentMib(leader.pid);
});
afterAll(async () => {
  console.log(`MiB more than before, one attack after the other: ${grownMibs.join(', ')}`);
  for (const each of crowds) each.close();
  await cluster?.stop();
});

async function expectUnharmed(): Promise<void> {
  expect(await closedDoors(doors)).toEqual([]);
  expect(await officeOf(cluster)).toEqual(office);
  const { pid } = await cluster.leader();
  expect(pid).toBe(leader.pid);
  const grownMib = (await residentMib(pid)) - mibBefore;
  expect(grownMib).toBeLessThan(grownMibMax);
  grownMibs.push(Math.round(grownMib));
}

const own = (ports: readonly number[]): number => ports[Number(leader.id.slice(1)) - 1]!;
const account = () => ({
  host: '127.0.0.1',
  port: own(doors.sql),
  user: 'barista',
  password: 'barista',
  database: 'barista',
});

/** Says this, and whether the server has ended the connection in time. */
async function isSentAway(port: number, bytes: Buffer, withinMs = 5000): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}).resume();
  socket.write(bytes);
  const ended = await Promise.race([
    once(socket, 'close').then(
      () => true,
      () => true,
    ),
    sleep(withinMs, false),
  ]);
  socket.destroy();
  return ended;
}

/** By what they say: until when each of them may be there. */
const slow: { readonly who: string; readonly crowd: Crowd; readonly endMs: number }[] = [];

it('connections that say nothing, or speak a byte a second and never end, keep nobody out', async () => {
  const asBarista = startup({ user: 'barista', database: 'barista' });
  const request = (path: string): Buffer =>
    Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: `);
  const [sql, http, peers] = [own(doors.sql), own(doors.http), own(doors.peers)];
  const longPassword = Buffer.concat([asBarista, Buffer.from([112, 0, 0, 3, 0])]);
  const add = async (who: string, endMs: number, options: CrowdOptions): Promise<void> => {
    slow.push({ who, endMs, crowd: await crowd(options) });
  };
  const drips = 'x';
  await add('slow start', 20_000, { port: sql, size: 1200, drips, beginning: Buffer.from([0, 0, 39, 16]) });
  await add('slow password', 60_000, { port: sql, size: 80, drips, beginning: longPassword });
  await add('slow request', 10_000, { port: http, size: 400, drips, beginning: request('/healthz') });
  await add('no request', 10_000, { port: http, size: 400 });
  await add('slow peer', 3000, { port: peers, size: 200, drips, beginning: request('/peer') });
  await add('no peer', 3000, { port: peers, size: 200 });
  await expectUnharmed();
});

it('ten thousand connections to the SQL port, half of them open', async () => {
  const size = connectionsToBeHad(10_000);
  if (size < 10_000) console.log(`only ${size} connections: this process may not open more files`);
  const silent = await crowd({ port: own(doors.sql), size });
  await expectUnharmed();
  await expect.poll(() => silent.ended).toBeGreaterThanOrEqual(size - openingMax);
});

describe('broken messages', () => {
  it('at the SQL port, before anybody has logged in', async () => {
    const random = new Random(seed);
    const starts = brokenStarts(random);
    const sent = await Promise.all(
      starts.map(async (bytes) => [bytes.toString('hex'), await isSentAway(own(doors.sql), bytes)]),
    );
    expect(sent.filter(([, away]) => away === false)).toEqual([]);
    await expectUnharmed();
  });

  it('of clients that have logged in', async () => {
    const random = new Random(seed + 1);
    for (const port of doors.sql) {
      const ends = await Promise.all(
        brokenMessages(random).map(async (bytes) => {
          const wire = await connectWire({ ...account(), port });
          wire.send(bytes);
          return [bytes.toString('hex'), (await wire.untilClosed()).map(describeFrame).at(-1)?.slice(0, 60)];
        }),
      );
      expect(ends.filter(([, last]) => !/C=08P01/.test(last ?? ''))).toEqual([]);
    }
    await expectUnharmed();
  });

  it('of clients that go away in the middle of one, or never send the rest of a gibibyte', async () => {
    const random = new Random(seed + 2);
    for (const port of doors.sql) {
      for (const bytes of cutMessages(random)) {
        const wire = await connectWire({ ...account(), port });
        wire.send(bytes);
        await sleep(20);
        wire.close();
      }
    }
    const long = await Promise.all(doors.sql.map((port) => connectWire({ ...account(), port })));
    for (const wire of long) wire.send(longestMessage);
    await expectUnharmed();
    for (const wire of long) wire.close();
  });

  it('at the HTTP port and at the peers port', async () => {
    const random = new Random(seed + 3);
    const noise = Array.from({ length: 40 }, () =>
      Buffer.concat([randomBytes(random, 300), Buffer.from('\r\n\r\n')]),
    );
    const ports = [own(doors.http), own(doors.peers)];
    const sent = await Promise.all([
      ...ports.flatMap((port) =>
        noise.map(async (bytes) => [port, bytes.toString('hex'), await isSentAway(port, bytes)] as const),
      ),
      ...brokenWebSockets.map(
        async (bytes) => [0, bytes.toString('hex'), await isSentAway(own(doors.peers), bytes)] as const,
      ),
    ]);
    expect(sent.filter(([, , away]) => !away)).toEqual([]);
    await expectUnharmed();
  });
});

describe('somebody at the peers port who knows the secret', () => {
  const ballot = { round: 1_000_000, replica: 'r9' as ReplicaId };
  const prepare = { kind: 'Prepare', group: 'main' as GroupId, ballot, commitPoint: 0 as Slot } as const;
  const goldens = (): Buffer[] => {
    const url = new URL(
      `../../server/src/adapters/ws-transport/goldens/frames-${ownVersions.newest}.json`,
      import.meta.url,
    );
    return Object.values(JSON.parse(readFileSync(url, 'utf8')) as Record<string, string>).map((hex) =>
      Buffer.from(hex, 'hex'),
    );
  };
  /** An Accept that says that it has the most entries that there may be, of the greatest lengths, and has none. */
  const hollow = (): Buffer => {
    const bytes = goldens().find((golden) => golden[0] === 0xc1 && golden[1] === 1)!;
    const entries = 2 + 5 + 8 + 5 + 24;
    bytes.writeUInt32LE(131_072, entries);
    bytes.writeUInt32LE(0xffffffff, entries + 4);
    return bytes;
  };

  it('as a replica of the group, and sends frames that are none, is sent away each time', async () => {
    const random = new Random(seed + 4);
    const as = leader.id === 'r2' ? 'r3' : 'r2';
    const there = { port: own(doors.peers), secret, to: leader.id, cluster: null };
    const broken: (Uint8Array | string)[] = [
      Buffer.alloc(0),
      hollow(),
      'no envelope',
      JSON.stringify({ from: 'r9', to: leader.id }),
      'x'.repeat(100_000),
      ...goldens().map((golden) => golden.subarray(0, random.below(golden.length))),
      ...Array.from({ length: 10 }, () => Buffer.concat([Buffer.from([0xc1]), randomBytes(random, 100)])),
      Buffer.from('dfffffffff', 'hex'),
      Buffer.from('ddffffffff', 'hex'),
      Buffer.from('c6ffffffff00', 'hex'),
    ];
    for (const frame of broken) {
      let ended: string | null = '';
      // Without a word: the true one was back before our frame was there, and has taken the place.
      for (let attempt = 0; ended === '' && attempt < 20; attempt += 1)
        ({ ended } = await intrude({ ...there, as }, [frame], { member: leader.id }));
      expect(ended).toMatch(/^malformed frame: /);
    }
    await expectUnharmed();
  });

  it('as a replica that was removed, deposes nobody, whatever ballot it has', async () => {
    const there = { port: own(doors.peers), secret, to: leader.id };
    const { cluster: of } = await intrude(
      { ...there, as: leader.id === 'r3' ? 'r2' : 'r3', cluster: null },
      [],
      { staysMs: 500 },
    );
    const said = [
      encodeMessage(prepare),
      encodeMessage({ ...prepare, kind: 'Resigned', successor: 'r9' as ReplicaId }),
    ];
    const { ended } = await intrude({ ...there, as: 'r9', cluster: of }, said, {
      member: leader.id,
      staysMs: 1500,
    });
    expect(ended).toBeNull();
    await expectUnharmed();
  });

  it('and asks for a copy, and speaks nonsense instead', async () => {
    const there = { port: own(doors.peers), secret, to: leader.id, cluster: null, purpose: 'copy' } as const;
    const as = leader.id === 'r2' ? 'r3' : 'r2';
    for (const frame of [
      Buffer.alloc(0),
      'nonsense',
      Buffer.from('ffffffff', 'hex'),
      Buffer.alloc(1_000_000, 7),
    ]) {
      const { ended } = await intrude({ ...there, as }, [frame], { member: leader.id });
      expect(ended).not.toBeNull();
    }
    await expectUnharmed();
  });
});

it("three thousand guessed cancel keys end nobody's statement", async () => {
  const client = new Client(account());
  await client.connect();
  const statement = client.query('SELECT pg_sleep(2), 1 AS one');
  const { processID } = client as unknown as { readonly processID: number };
  const random = new Random(seed + 5);
  const guesses = Array.from({ length: 3000 }, () => {
    const key = Buffer.alloc(8);
    key.writeInt32BE(processID, 0);
    key.writeInt32BE(random.below(2 ** 31), 4);
    return cancelForBackend(key);
  });
  for (let at = 0; at < guesses.length; at += 100)
    await Promise.all(guesses.slice(at, at + 100).map((bytes) => isSentAway(own(doors.sql), bytes)));
  expect((await statement).rows[0]).toMatchObject({ one: 1 });
  await client.end();
  await expectUnharmed();
});

it('who was slow from the beginning has been ended in time', async () => {
  for (const { who, crowd: each, endMs } of slow) {
    if (who === 'slow password') continue;
    await expect.poll(() => each.ended, { message: who }).toBe(each.size);
    // It is looked for now and then.
    expect([who, each.lastEndMs]).toEqual([who, expect.toSatisfy((ms: number) => ms < endMs + 6000)]);
  }
  await expectUnharmed();
});
