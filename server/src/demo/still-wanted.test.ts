import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import express from 'express';
import { afterEach, expect, test } from 'vitest';
import { ifStillWanted } from './still-wanted.ts';

let close: () => void = () => undefined;
afterEach(() => close());

/** Counts what it has carried out. */
async function serve() {
  const seen = { asked: 0, done: 0 };
  const app = express();
  const count: express.RequestHandler = (_request, _response, next) => {
    seen.asked += 1;
    next();
  };
  app.post('/', express.json(), count, ifStillWanted, (_request, response) => {
    seen.done += 1;
    response.json({ ok: true });
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  close = () => server.close();
  const { port } = server.address() as AddressInfo;
  return { seen, port };
}

const headers = 'host: x\r\ncontent-type: application/json\r\ncontent-length: 2';

test('what was given up before the server came to it is not done', async () => {
  const { seen, port } = await serve();
  const client = connect(port, '127.0.0.1');
  await once(client, 'connect');
  client.resume();
  client.write(`POST / HTTP/1.1\r\n${headers}\r\n\r\n{}`);
  // Both lie there when the server looks.
  client.end();
  await once(client, 'close');
  expect(seen).toEqual({ asked: 1, done: 0 });
});

test('what somebody waits for is', async () => {
  const { seen, port } = await serve();
  const response = await fetch(`http://127.0.0.1:${port}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  expect(await response.json()).toEqual({ ok: true });
  expect(seen).toEqual({ asked: 1, done: 1 });
});
