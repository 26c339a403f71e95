/** The leader goes away while it decides the transaction of a client that came through another replica: the client hears what became of it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startRelay, type Relay } from '../../adapters/testing/relay.ts';
import type { ReplicaId } from '../../multipaxos/types.ts';
import type { TransactionOutcome } from '../../ports/agreement.ts';
import * as send from './codec/frontend-messages.ts';
import { startGateway, startTestDatabase, type TestDatabase, type TestGateway } from './testing/gateway.ts';
import { hold } from './testing/helpers.ts';
import { createMemoryAgreement } from './testing/memory-agreement.ts';
import { connectWire, describeFrame, type WireClient } from './testing/wire-client.ts';

let pg: TestDatabase;
let leader: TestGateway;
let follower: TestGateway;
/** Between the follower and the leader. */
let cable: Relay;
let wire: WireClient;

const open = async (bitBytes: number): Promise<void> => {
  cable = await startRelay(leader.connection.port, bitBytes);
  const agreement = createMemoryAgreement();
  agreement.setService({ kind: 'at', leader: 'r1' as ReplicaId, host: '127.0.0.1', port: cable.port });
  const limits = { tunnelGraceMs: 100, outcomeWaitMs: 1_234 };
  follower = await startGateway(pg, { agreement, limits });
  wire = await connectWire(follower.connection);
};
beforeAll(async () => {
  pg = await startTestDatabase();
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  leader = await startGateway(pg);
  await open(1 << 20);
  await ask(q('CREATE TABLE t (a int PRIMARY KEY, b text)'));
});
afterEach(async () => {
  wire.close();
  await follower.listener.close();
  cable.close();
  await leader.listener.close();
  await pg.superuser.query('DROP TABLE IF EXISTS t CASCADE');
});

const q = (sql: string): Buffer => send.query(Buffer.from(sql));
const ask = async (...messages: readonly Buffer[]): Promise<string[]> => {
  wire.send(...messages);
  return (await wire.until('Z')).map(describeFrame);
};
const insert = "INSERT INTO t VALUES (1, 'x')";
/** The client sends this, the leader is cut off while it decides, and this replica's log says what became of it. */
const cutOff = async (sql: readonly Buffer[], outcome: TransactionOutcome): Promise<string[]> => {
  const agreement = hold(leader.agreement);
  follower.agreement.known = () => outcome;
  wire.send(...sql);
  await agreement.decided;
  await new Promise((resolve) => setTimeout(resolve, 50));
  cable.cut();
  const frames = (await wire.untilClosed()).map(describeFrame);
  agreement.decide({ code: 'superseded', reason: 'a test' });
  return frames.map((line) => line.replace(/ M=.*/, ''));
};

describe('a statement whose leader goes away while it is decided', () => {
  it('is told as it would have been, and the end of the session, if it took effect', async () => {
    expect(await cutOff([q(insert)], 'committed')).toEqual(['C INSERT 0 1\\0', 'Z I', 'E V=FATAL C=57P01']);
    const { asked } = follower.agreement;
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ leadership: { round: 1, replica: 'test' } });
    expect(asked[0]?.transaction).toMatch(/^[0-9a-f]{16}\/2$/);
  });

  it('is told with its rows', async () => {
    const frames = await cutOff([q(`${insert} RETURNING a`)], 'committed');
    expect(frames.map((line) => line[0])).toEqual(['T', 'D', 'C', 'Z', 'E']);
  });

  it('is told as not committed if it never takes effect', async () => {
    expect(await cutOff([q(insert)], 'notCommitted')).toEqual(['E V=FATAL C=40001']);
  });

  it('is told as unknown if nobody knows', async () => {
    expect(await cutOff([q(insert)], 'unknown')).toEqual(['E V=FATAL C=08007']);
  });

  it('in the extended protocol, too', async () => {
    const messages = [
      send.parse('', insert),
      send.bind({ portal: '', statement: '' }),
      send.describePortal(''),
      send.execute(''),
      send.sync,
    ];
    const frames = await cutOff(messages, 'committed');
    expect(frames.map((line) => line[0])).toEqual(['1', '2', 'n', 'C', 'Z', 'E']);
  });
});

it('a COMMIT whose leader goes away is told', async () => {
  await ask(q(`BEGIN; ${insert}`));
  expect(await cutOff([q('COMMIT')], 'committed')).toEqual(['C COMMIT\\0', 'Z I', 'E V=FATAL C=57P01']);
});

it('an answer that was given is not doubted any more', async () => {
  await ask(q(insert));
  cable.cut();
  const frames = (await wire.untilClosed()).map(describeFrame);
  expect(frames).toHaveLength(1);
  expect(frames[0]).toContain('C=57P01');
  expect(follower.agreement.asked).toEqual([]);
});

it('an answer of which part was given is not given again', async () => {
  const agreement = hold(leader.agreement);
  follower.agreement.known = () => 'committed';
  // Rows beyond PostgreSQL's buffer take the COMMIT's answer along.
  wire.send(q(`BEGIN; ${insert}; COMMIT; SELECT generate_series(1, 5000); SELECT pg_sleep(30)`));
  await agreement.decided;
  agreement.decide('choose');
  await wire.until('C', 3);
  cable.cut();
  const frames = (await wire.untilClosed()).map((frame) => frame.type);
  expect(frames.at(-1)).toBe('E');
  expect(frames).not.toContain('Z');
  expect(frames).not.toContain('C');
});

it('a leader that lives but leads no more and says nothing is not waited for', async () => {
  const agreement = hold(leader.agreement);
  follower.agreement.known = () => 'notCommitted';
  wire.send(q(insert));
  await agreement.decided;
  await new Promise((resolve) => setTimeout(resolve, 50));
  follower.agreement.setService({ kind: 'here', generation: 2 });
  expect(describeFrame((await wire.untilClosed())[0] ?? { type: '', bytes: Buffer.alloc(0) })).toContain(
    'C=40001',
  );
  agreement.decide({ code: 'superseded', reason: 'a test' });
});

it('what the leader does not know this replica may', async () => {
  const agreement = hold(leader.agreement);
  follower.agreement.known = () => 'committed';
  wire.send(q(insert));
  await agreement.decided;
  agreement.decide({ code: 'unknown', reason: 'a test' });
  const frames = (await wire.untilClosed()).map(describeFrame);
  expect(frames.map((line) => line.replace(/ M=.*/, ''))).toEqual([
    'C INSERT 0 1\\0',
    'Z I',
    'E V=FATAL C=57P01',
  ]);
});

it('a replica that stops meanwhile says that the outcome is unknown', async () => {
  const agreement = hold(leader.agreement);
  wire.send(q(insert));
  await agreement.decided;
  await new Promise((resolve) => setTimeout(resolve, 50));
  await follower.listener.close();
  expect(describeFrame((await wire.untilClosed())[0] ?? { type: '', bytes: Buffer.alloc(0) })).toContain(
    'C=08007',
  );
  agreement.decide('choose');
});

it('what the replicas tell each other never reaches a client, however the bytes are cut', async () => {
  const direct = await connectWire(leader.connection);
  for (const bitBytes of [1, 3, 7]) {
    wire.close();
    await follower.listener.close();
    cable.close();
    await open(bitBytes);
    for (const sql of [
      `BEGIN; ${insert}; ROLLBACK`,
      'UPDATE t SET b = a',
      `${insert} RETURNING repeat('x', 9000)`,
      'DELETE FROM t',
    ]) {
      const frames = await ask(q(sql));
      expect(frames.map((line) => line[0]).join('')).toMatch(/^[CTD]+Z$/);
    }
  }
  direct.send(q(insert));
  expect((await direct.until('Z')).map(describeFrame)).toEqual(['C INSERT 0 1\\0', 'Z I']);
  direct.close();
});
