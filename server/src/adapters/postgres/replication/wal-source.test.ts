import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import {
  authenticationCleartext,
  authenticationOk,
  copyBothResponse,
  copyDone,
  errorResponse,
  keepalive,
  letter,
  MessageReader,
  readyForQuery,
  readStandbyStatus,
  walHead,
} from './messages.ts';
import { openWalSource, type WalSource } from './wal-source.ts';
import { eventually } from '../../../ports/testing/eventually.ts';

const from = 0x3000100 as Lsn;
const greeting = Buffer.concat([authenticationOk, readyForQuery]);

let root = '';
let server: Server;
let sockets: Socket[] = [];
let sources: WalSource[] = [];
/** What PostgreSQL answers the request to start. */
let answer: Buffer;
let startup = '';
let asked: string[] = [];
let statuses: { readonly flushed: number; readonly replyRequested: boolean }[] = [];
let wal: { start: number; bytes: Buffer }[] = [];
let ends: string[] = [];
let heard = 0;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-source-'));
  [sockets, asked, statuses, wal, ends, heard] = [[], [], [], [], [], 0];
  answer = copyBothResponse;
  server = createServer((socket) => serve(socket));
  await new Promise<void>((resolve) => {
    server.listen(join(root, 'socket'), resolve);
  });
});
afterEach(() => {
  for (const source of sources.splice(0)) source.close();
  for (const socket of sockets) socket.destroy();
  server.close();
  rmSync(root, { recursive: true });
});

/** The walsender's side, word by word. */
function serve(socket: Socket): void {
  sockets.push(socket);
  socket.on('error', () => undefined);
  const reader = new MessageReader();
  let isGreeted = false;
  socket.on('data', (chunk: Buffer) => {
    if (!isGreeted) {
      isGreeted = true;
      startup = chunk.toString('utf8', 8);
      socket.write(greeting);
      return;
    }
    for (const { type, body } of reader.push(chunk)) {
      if (type === letter('Q')) {
        asked.push(body.toString('utf8', 0, body.length - 1));
        socket.write(answer);
      } else {
        const status = readStandbyStatus(body);
        if (status !== null)
          statuses.push({ flushed: status.flushed, replyRequested: status.replyRequested });
      }
    }
  });
}

async function open(): Promise<WalSource> {
  const source = await openWalSource({
    socketPath: join(root, 'socket'),
    version: '18.4',
    timeline: 3 as Timeline,
    from,
    slot: 'barista',
    onWal: (start, pieces) => wal.push({ start, bytes: Buffer.concat(pieces) }),
    onHeard: () => {
      heard += 1;
    },
    onEnd: (reason) => ends.push(reason),
  });
  sources.push(source);
  return source;
}

function walMessage(start: number, text: string): Buffer {
  const head = walHead(start as Lsn, (start + text.length) as Lsn, text.length);
  return Buffer.concat([head, Buffer.from(text)]);
}

function say(...parts: Buffer[]): void {
  sockets[0]!.write(Buffer.concat(parts));
}

function received(): string {
  return wal.map(({ bytes }) => bytes.toString()).join('');
}

describe('the stream of the primary’s WAL', () => {
  it('is asked for as the standby that commits wait for, on this timeline, through the slot', async () => {
    await open();
    expect(startup.split('\0').slice(0, 6)).toEqual([
      'user',
      'postgres',
      'replication',
      'true',
      'application_name',
      'barista',
    ]);
    expect(asked).toEqual(['START_REPLICATION SLOT "barista" PHYSICAL 0/3000100 TIMELINE 3']);
  });

  it('is handed on in order, also what came with the answer, and however it is cut', async () => {
    const bytes = Buffer.concat([
      walMessage(from, 'ristretto '),
      keepalive(from, false),
      walMessage(from + 10, 'lungo '),
      walMessage(from + 16, 'cortado'),
    ]);
    answer = Buffer.concat([copyBothResponse, bytes]);
    await open();
    await eventually(() => expect(received()).toBe('ristretto lungo cortado'));
    expect(wal[0]!.start).toBe(from);
    sockets[0]!.destroy();
    [wal, answer] = [[], copyBothResponse];
    sockets = [];
    await open();
    for (const byte of bytes) {
      say(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => expect(received()).toBe('ristretto lungo cortado'));
    expect(wal.map(({ start }) => start)).toEqual([from, from + 10, from + 16]);
    expect(heard).toBeGreaterThanOrEqual(4);
  });

  it('ends where a piece is missing: nothing behind it is handed on', async () => {
    await open();
    say(walMessage(from, 'ristretto'), walMessage(from + 10, 'lungo'));
    await eventually(() => expect(ends).toHaveLength(1));
    expect(ends[0]).toBe('WAL from 0/300010A came where 0/3000109 was due');
    expect(received()).toBe('');
  });

  it.each([
    ['PostgreSQL ends it', () => say(copyDone), /has ended the stream/],
    ['the walsender dies', () => sockets[0]!.destroy(), /closed the replication connection/],
    ['an error comes', () => say(errorResponse('57P01', 'terminated by somebody')), /terminated by somebody/],
    ['it makes no sense', () => say(Buffer.from([100, 0, 0, 0, 5, 120])), /neither WAL nor a sign of life/],
  ])('ends once, with the reason, when %s', async (_what, work, reason) => {
    await open();
    work();
    await eventually(() => expect(ends).toHaveLength(1));
    expect(ends[0]).toMatch(reason);
    say(walMessage(from, 'too late'));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect([ends.length, received()]).toEqual([1, '']);
  });

  it('says nothing more once it was closed', async () => {
    const source = await open();
    source.close();
    say(walMessage(from, 'too late'), copyDone);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect([ends, received()]).toEqual([[], '']);
  });

  it('rests while it is paused', async () => {
    const source = await open();
    source.pause();
    say(walMessage(from, 'ristretto'));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(received()).toBe('');
    source.resume();
    await eventually(() => expect(received()).toBe('ristretto'));
  });
});

describe('what the primary is told', () => {
  it('is what is chosen, and never less than before', async () => {
    const source = await open();
    for (const position of [from, from + 20, from + 10, from + 20, from + 30]) source.report(position as Lsn);
    await eventually(() => expect(statuses).toHaveLength(2));
    expect(statuses.map(({ flushed }) => flushed)).toEqual([from + 20, from + 30]);
  });

  it('is not what has come: a sign of life that it asks for has the chosen position', async () => {
    const source = await open();
    say(walMessage(from, 'ristretto'), keepalive((from + 9) as Lsn, true));
    await eventually(() => expect(statuses).toEqual([{ flushed: from, replyRequested: false }]));
    source.ping();
    await eventually(() => expect(statuses.at(-1)).toEqual({ flushed: from, replyRequested: true }));
  });
});

describe('a stream that does not begin', () => {
  it('tells PostgreSQL’s reason with its code', async () => {
    answer = errorResponse('55006', 'replication slot "barista" is active for PID 7');
    await expect(open()).rejects.toMatchObject({ code: '55006', message: /is active for PID 7/ });
    expect(ends).toEqual([]);
  });

  it('says so where the timeline has ended there', async () => {
    answer = readyForQuery;
    await expect(open()).rejects.toThrow('PostgreSQL has no WAL of timeline 3 from 0/3000100 on');
  });

  it('does not give anybody a password', async () => {
    server.removeAllListeners('connection');
    server.on('connection', (socket) => {
      sockets.push(socket);
      socket.once('data', () => socket.write(authenticationCleartext));
    });
    await expect(open()).rejects.toThrow(/asks the replica itself for a password/);
  });

  it('is an error where there is no PostgreSQL', async () => {
    server.close();
    rmSync(join(root, 'socket'), { force: true });
    await expect(open()).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
