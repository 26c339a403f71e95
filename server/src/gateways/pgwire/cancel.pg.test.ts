/** CancelRequest: it stops a running statement, and never a transaction that is being decided. */
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startGateway, startTestDatabase, type TestDatabase, type TestGateway } from './testing/gateway.ts';
import { failure, hold } from './testing/helpers.ts';
import { endWithTable, keysInTable, startWithTable } from './testing/with-table.ts';

let pg: TestDatabase;
let gateway: TestGateway;
let client: Client;
beforeAll(async () => {
  pg = await startTestDatabase();
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  ({ gateway, client } = await startWithTable(pg));
});
afterEach(() => endWithTable(pg, { gateway, client }));

const rows = (): Promise<number[]> => keysInTable(pg);

describe('cancel', () => {
  it('a CancelRequest stops a running statement', async () => {
    const sleeper = await gateway.client();
    const { processID, secretKey } = sleeper as unknown as { processID: number; secretKey: number };
    const sleeping = failure(sleeper.query('SELECT pg_sleep(20)'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    await sendCancel(processID, secretKey);
    expect((await sleeping).code).toBe('57014');
    expect((await sleeper.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await sleeper.end();
  });

  it('a CancelRequest while a transaction is decided changes nothing', async () => {
    const { processID, secretKey } = client as unknown as { processID: number; secretKey: number };
    const agreement = hold(gateway.agreement);
    const query = client.query("INSERT INTO t VALUES (1, 'x')");
    await agreement.decided;
    await sendCancel(processID, secretKey);
    agreement.decide('choose');
    await query;
    expect(await rows()).toEqual([1]);
    expect(gateway.agreement.failed).toEqual([]);
  });

  it('a CancelRequest while a chosen transaction is being committed does not reach PostgreSQL', async () => {
    const sessionSql = { ...pg.sessionSql, recordSlot: `${pg.sessionSql.recordSlot}, pg_sleep(0.5)` };
    const slow = await startGateway(pg, { sessionSql, agreement: gateway.agreement });
    const other = await slow.client();
    const { processID, secretKey } = other as unknown as { processID: number; secretKey: number };
    const query = other.query("INSERT INTO t VALUES (1, 'x')");
    await expect.poll(() => gateway.agreement.chosen.length).toBe(1);
    await sendCancel(processID, secretKey, slow.connection.port);
    await query;
    expect(gateway.agreement.failed).toEqual([]);
    expect(await rows()).toEqual([1]);
    await other.end();
    await slow.listener.close();
  });

  it('cancels at random moments never keep a chosen transaction from being committed', async () => {
    const { processID, secretKey } = client as unknown as { processID: number; secretKey: number };
    const outcomes: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      const query = client.query("INSERT INTO t VALUES ($1, 'x')", [n]).then(
        () => 'ok',
        (error: { code?: string }) => String(error.code),
      );
      await new Promise((resolve) => setTimeout(resolve, n % 6));
      await sendCancel(processID, secretKey);
      outcomes.push(await query);
    }
    expect(new Set([...outcomes, 'ok', '57014'])).toEqual(new Set(['ok', '57014']));
    expect(gateway.agreement.failed).toEqual([]);
    expect(gateway.agreement.committedSlots).toHaveLength(gateway.agreement.chosen.length);
    expect(await rows()).toEqual(outcomes.flatMap((outcome, n) => (outcome === 'ok' ? [n] : [])));
  });
});

const sendCancel = async (
  processId: number,
  secret: number,
  port = gateway.connection.port,
): Promise<void> => {
  const { connect } = await import('node:net');
  const packet = Buffer.alloc(16);
  packet.writeInt32BE(16, 0);
  packet.writeInt32BE((1234 << 16) | 5678, 4);
  packet.writeInt32BE(processId, 8);
  packet.writeInt32BE(secret, 12);
  await new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(packet));
    socket.on('close', () => resolve());
    socket.on('error', () => resolve());
    socket.resume();
  });
};
