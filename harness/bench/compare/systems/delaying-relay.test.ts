import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { startRelay } from './delaying-relay.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

test('everything arrives, in order, and neither way sooner than it should', async () => {
  const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  ends.push(async () => server.close());
  await once(server, 'listening');
  const relay = await startRelay((server.address() as AddressInfo).port, 40);
  ends.push(() => relay.stop());
  const client = connect({ port: relay.port, host: '127.0.0.1' });
  ends.push(async () => client.destroy());
  const sent = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 251));
  const beganMs = performance.now();
  for (let at = 0; at < sent.length; at += 10_000) client.write(sent.subarray(at, at + 10_000));
  let back = Buffer.alloc(0);
  let firstMs = 0;
  for await (const chunk of client as AsyncIterable<Buffer>) {
    if (back.length === 0) firstMs = performance.now() - beganMs;
    back = Buffer.concat([back, chunk]);
    if (back.length >= sent.length) break;
  }
  expect(back.equals(sent)).toBe(true);
  // Node's timers may be a millisecond early.
  expect(firstMs).toBeGreaterThanOrEqual(78);
});
