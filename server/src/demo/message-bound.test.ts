/** Messages of any length that the console's session is sent, by a server that plays PostgreSQL. */
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import type { SqlResult } from '../api/sql.ts';
import { createMessageBound, messageBytesMax } from './message-bound.ts';
import { runSql } from './sql-console.ts';

const message = (kind: string, body: Buffer, lengthSaid = body.length + 4): Buffer => {
  const header = Buffer.from(`${kind}____`);
  header.writeUInt32BE(lengthSaid, 1);
  return Buffer.concat([header, body]);
};

it('a message that is too long is found by its header, in whatever parts it comes', () => {
  const bytes = Buffer.concat([
    message('S', Buffer.from('name\0value\0')),
    message('n', Buffer.alloc(0)),
    message('D', Buffer.alloc(96)),
    message('D', Buffer.alloc(0), 101),
  ]);
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const tooLong = createMessageBound(100);
    const found: (number | null)[] = [];
    for (let at = 0; at < bytes.length; at += size) found.push(tooLong(bytes.subarray(at, at + size)));
    expect(found.at(-1)).toBe(101);
    expect(found.slice(0, -1).every((one) => one === null)).toBe(true);
  }
});

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const ready = message('Z', Buffer.from('I'));
const field = (kind: string, text: string): Buffer => Buffer.from(`${kind}${text}\0`);

/** Lets anybody in, and answers each query so. */
async function answering(answer: readonly Buffer[]): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', Buffer.alloc(4)), ready]));
      socket.on('data', (data) => {
        if (data[0] === 'Q'.charCodeAt(0)) for (const each of answer) socket.write(each);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

it('a row that is longer than a string can be is refused as it begins, and nothing is gathered of it', async () => {
  const port = await answering([message('D', Buffer.alloc(1000), 600_000_014)]);
  expect(await runSql(port, "SELECT repeat('x', 600000000)")).toMatchObject({
    error: {
      code: '54000',
      message: 'One row or message is 573 MiB long, and at most 64 MiB are taken; the session was ended.',
    },
  });
});

it('a long row that can be taken is cut off as before', async () => {
  const cell = Buffer.alloc(messageBytesMax - 20, 'x');
  const row = Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 0]), cell]);
  row.writeUInt32BE(cell.length, 2);
  const column = Buffer.concat([Buffer.from([0, 1]), Buffer.from('repeat\0'), Buffer.alloc(18)]);
  const port = await answering([
    message('T', column),
    message('D', row),
    message('C', Buffer.from('SELECT 1\0')),
    ready,
  ]);
  const answer = (await runSql(port, 'SELECT')) as SqlResult;
  expect(answer.command).toBe('SELECT 1');
  expect(answer.rows).toEqual([[`${'x'.repeat(10_000)}...`]]);
});

it('of an error as long as somebody raised it the beginning is told', async () => {
  const long = 'x'.repeat(50_000);
  const body = Buffer.concat([
    field('S', 'ERROR'),
    field('C', 'P0001'),
    field('M', long),
    field('D', long),
    field('H', long),
    Buffer.alloc(1),
  ]);
  const port = await answering([message('E', body), ready]);
  const cut = `${long.slice(0, 10_000)}...`;
  expect(await runSql(port, 'DO')).toEqual({
    error: { code: 'P0001', message: cut, detail: cut, hint: cut },
  });
});

it.each([
  ['I', undefined],
  ['T', true],
])('a transaction that is still open at the end, or is not (%s), is told', async (status, rolledBack) => {
  const done = message('C', Buffer.from('INSERT 0 1\0'));
  const port = await answering([done, message('Z', Buffer.from(status))]);
  const answer = (await runSql(port, 'BEGIN; INSERT')) as SqlResult;
  expect(answer.command).toBe('INSERT 0 1');
  expect(answer.rolledBack).toBe(rolledBack);
});
