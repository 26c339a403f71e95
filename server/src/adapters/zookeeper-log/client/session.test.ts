import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFakeServer, type FakeServer } from '../testing/fake-server.ts';
import { sync } from './protocol.ts';
import { startSession, type ZooKeeperSession } from './session.ts';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('a session with ZooKeeper', () => {
  let server: FakeServer;
  let session: ZooKeeperSession | null = null;
  const start = (...servers: string[]): ZooKeeperSession =>
    (session = startSession({ servers, sessionTimeoutMs: 300 }));
  beforeEach(async () => {
    server = await startFakeServer();
  });
  afterEach(async () => {
    await session?.close();
    await server.close();
  });

  it('goes on to the next server if one refuses or says nothing', async () => {
    const silent = await startFakeServer();
    silent.greeting = 'silence';
    for (let i = 0; i < 4; i++) {
      const one = startSession({
        servers: ['127.0.0.1:1', silent.address, server.address],
        sessionTimeoutMs: 300,
      });
      await one.whenConnected(5000);
      expect(one.id()).toBe(77n);
      await one.close();
    }
    await silent.close();
  });

  it('leaves a server that stops answering, though the connection stands, and keeps the session', async () => {
    const one = start(server.address);
    await one.whenConnected(2000);
    server.reply = 'silence';
    await expect(one.request(sync('/'))).rejects.toMatchObject({ code: 'connectionLoss' });
    server.reply = 'ok';
    await one.whenConnected(2000);
    await one.request(sync('/'));
    expect(server.asked).toEqual([0n, 77n]);
  });

  it('stays as long as pings are answered', async () => {
    const patient = await startFakeServer(1500);
    session = startSession({ servers: [patient.address], sessionTimeoutMs: 1500 });
    await session.whenConnected(2000);
    await sleep(2500);
    await session.request(sync('/'));
    expect(patient.asked).toHaveLength(1);
    await session.close();
    await patient.close();
  });

  it('rejects what was under way when the connection broke, and never sends it again', async () => {
    const one = start(server.address);
    await one.whenConnected(2000);
    server.reply = 'hangUp';
    const results = await Promise.allSettled([one.request(sync('/a')), one.request(sync('/b'))]);
    const lost = { status: 'rejected', reason: { code: 'connectionLoss' } };
    expect(results).toMatchObject([lost, lost]);
    await expect(one.request(sync('/c'))).rejects.toMatchObject({ code: 'connectionLoss' });
    const { length } = server.requests;
    expect(length).toBeLessThanOrEqual(2);
    server.reply = 'ok';
    await one.whenConnected(2000);
    await sleep(50);
    expect(server.requests).toHaveLength(length);
  });

  it('breaks a connection over which the answer to another request comes', async () => {
    const one = start(server.address);
    await one.whenConnected(2000);
    server.reply = 'otherXid';
    await expect(one.request(sync('/'))).rejects.toThrow('which is not the next');
  });

  it('that has expired says so to all who wait and ask, and connects no more', async () => {
    const one = start(server.address);
    await one.whenConnected(2000);
    server.greeting = 'expired';
    server.reply = 'hangUp';
    await expect(one.request(sync('/'))).rejects.toMatchObject({ code: 'connectionLoss' });
    await expect(one.whenConnected(2000)).rejects.toMatchObject({ code: 'sessionExpired' });
    await expect(one.request(sync('/'))).rejects.toMatchObject({ code: 'sessionExpired' });
    const { length } = server.asked;
    await sleep(200);
    expect(server.asked).toHaveLength(length);
  });

  it('waits for a connection no longer than it is told to, and names servers and reason', async () => {
    const waiting = start('127.0.0.1:1').whenConnected(100);
    await expect(waiting).rejects.toMatchObject({ code: 'connectionLoss' });
    await expect(waiting).rejects.toThrow('ZooKeeper (127.0.0.1:1) does not answer: connect ECONNREFUSED');
  });

  it('that is closed refuses everything, also to those who wait', async () => {
    const one = start('127.0.0.1:1');
    const waiting = one.whenConnected(5000);
    const closed = one.close();
    await expect(waiting).rejects.toMatchObject({ code: 'closed' });
    await closed;
    await expect(one.request(sync('/'))).rejects.toMatchObject({ code: 'closed' });
  });

  it('refuses servers that are not host:port', () => {
    for (const text of ['localhost', ':2181', 'a:0', 'a:70000', 'a:b'])
      expect(() => startSession({ servers: [text], sessionTimeoutMs: 300 })).toThrow(RangeError);
  });
});
