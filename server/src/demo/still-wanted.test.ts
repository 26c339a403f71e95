import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { isStillWanted } from './still-wanted.ts';

let close: () => void = () => undefined;
afterEach(() => close());

/** Answers what became of each request, in order. */
async function serve() {
  const wanted: boolean[] = [];
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      void isStillWanted(request).then((is) => {
        wanted.push(is);
        response.end(String(is));
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  close = () => server.close();
  const { port } = server.address() as AddressInfo;
  return { wanted, port };
}

const request = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}';

test('what was given up before the server came to it is not wanted any more', async () => {
  const { wanted, port } = await serve();
  const client = connect(port, '127.0.0.1');
  await once(client, 'connect');
  client.write(request);
  // Both lie there when the server looks.
  client.end();
  await once(client, 'close');
  expect(wanted).toEqual([false]);
});

test('what somebody waits for is', async () => {
  const { wanted, port } = await serve();
  const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: '{}' });
  expect(await response.text()).toBe('true');
  expect(wanted).toEqual([true]);
});
