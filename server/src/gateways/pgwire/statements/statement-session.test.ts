import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type {
  OpenAnswer,
  RequestAnswer,
  SessionId,
  StatementSessions,
} from '../../../ports/statement-sessions.ts';
import {
  commandComplete,
  errorResponse,
  frameOf,
  readErrorFields,
  readyForQuery,
} from '../../../pgwire/backend-messages.ts';
import { authentication } from '../codec/authentication-messages.ts';
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import { flush, parse, query, sync, terminate } from '../../../pgwire/frontend-messages.ts';
import { back, front } from '../../../pgwire/message-types.ts';
import { StatementSession } from './statement-session.ts';

const id = '0'.repeat(32) as SessionId;
const answered = (...parts: readonly Buffer[]): RequestAnswer => ({
  code: 'answered',
  bytes: Buffer.concat(parts),
  ended: false,
});
const done = answered(commandComplete('SELECT 1'), readyForQuery('I'));
const opened = answered(
  authentication(0, Buffer.alloc(0)),
  frameOf(back.parameterStatus, Buffer.from('a\0b\0')),
  readyForQuery('I'),
);
const failure = errorResponse('ERROR', { sqlState: '42601', message: 'wrong' });

interface Asked {
  readonly seq: number;
  readonly bytes: Buffer;
}

/** A session whose requests are answered by `answer`, one after the other. */
function serve(
  answer: (asked: Asked) => RequestAnswer | Promise<RequestAnswer>,
  open: RequestAnswer = opened,
) {
  const [near, far] = duplexPair();
  const asked: Asked[] = [];
  const closed: SessionId[] = [];
  const said: Buffer[] = [];
  far.on('data', (chunk: Buffer) => said.push(chunk));
  const ended = new Promise<void>((resolve) => far.on('end', resolve));
  const sessions: StatementSessions = {
    whyNot: () => null,
    findLogin: () => Promise.reject(new Error('nobody asks')),
    reservedUsers: [],
    hasLevels: false,
    open: (_opening, onNotified) => {
      notify = onNotified;
      return Promise.resolve({ ...open, session: id } as OpenAnswer);
    },
    request: async (_session, seq, bytes) => {
      asked.push({ seq, bytes });
      return answer({ seq, bytes });
    },
    cancel: () => undefined,
    close: (session) => closed.push(session),
  };
  const keys: Buffer[] = [];
  let notify: (message: Buffer) => void = () => undefined;
  const session = new StatementSession({
    client: near,
    opening: { user: 'u', database: 'd', parameters: [] },
    sessions,
    bounds: { frameBytesMax: 1000, requestBytesMax: 1000, copyBytesMax: 1000 },
    lastWordsMs: 1000,
    onAuthenticated: () => null,
    onKey: (key) => keys.push(key),
    onWords: () => undefined,
  });
  return {
    client: far,
    asked,
    closed,
    said: () => Buffer.concat(said),
    ended,
    session,
    keys,
    notify: (message: Buffer) => notify(message),
  };
}

function types(bytes: Buffer): string {
  const splitter = new FrameSplitter(10_000);
  splitter.feed(bytes);
  let all = '';
  while (splitter.next()) all += String.fromCharCode(splitter.type);
  return all;
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds() && tries < 500; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 2));
  expect(holds()).toBe(true);
}

describe('a client whose statements travel', () => {
  it('is greeted with a key of its own, and its requests are numbered and answered in turn', async () => {
    const { client, asked, said, keys } = serve(() => done);
    client.write(Buffer.concat([query('SELECT 1'), query('SELECT 2')]));
    await until(() => types(said()) === 'RSKZCZCZ');
    expect(asked).toEqual([
      { seq: 1, bytes: query('SELECT 1') },
      { seq: 2, bytes: query('SELECT 2') },
    ]);
    expect(keys).toHaveLength(1);
  });

  it('that closes its side is answered all that it has asked, and then let go', async () => {
    const { client, asked, said, closed, ended } = serve(async () => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      return done;
    });
    client.end(Buffer.concat([query('SELECT 1'), query('SELECT 2'), query('SELECT 3')]));
    await ended;
    expect(types(said())).toBe('RSKZCZCZCZ');
    expect(asked).toHaveLength(3);
    expect(closed).toEqual([id]);
  });

  it.each([
    ['behind an answer that is under way', true],
    ['unread', false],
  ])('for whom too many notifications wait is let go: %s', async (_, isBusy) => {
    const { client, asked, said, closed, ended, notify } = serve(() =>
      isBusy ? new Promise<RequestAnswer>(() => undefined) : done,
    );
    await until(() => types(said()) === 'RSKZ');
    if (isBusy) client.write(query('SELECT 1'));
    else client.pause();
    await until(() => asked.length === (isBusy ? 1 : 0));
    const message = frameOf(back.notificationResponse, Buffer.alloc(8_000));
    const enough = 1_000;
    for (let told = 0; told < enough; told += 1) notify(message);
    expect(closed).toEqual([]);
    for (let told = enough; told < 3_000; told += 1) notify(message);
    expect(closed).toEqual([id]);
    client.resume();
    await ended;
    expect(said().toString('latin1')).toContain('C53200');
  });

  it('has one request under way', async () => {
    let let1Go: (answer: RequestAnswer) => void = () => undefined;
    const { client, asked } = serve(({ seq }) =>
      seq === 1 ? new Promise<RequestAnswer>((resolve) => (let1Go = resolve)) : done,
    );
    client.write(query('SELECT 1'));
    await until(() => asked.length === 1);
    client.write(query('SELECT 2'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(asked).toHaveLength(1);
    let1Go(done);
    await until(() => asked.length === 2);
  });

  it('does not get the ReadyForQuery of a Sync that stands for its Flush', async () => {
    const { client, said } = serve(() =>
      answered(frameOf(back.parseComplete, Buffer.alloc(0)), readyForQuery('I')),
    );
    client.write(Buffer.concat([parse('s', 'SELECT 1'), flush]));
    await until(() => types(said()) === 'RSKZ1');
    client.write(sync);
    await until(() => types(said()) === 'RSKZ11Z');
    expect(types(said())).toBe('RSKZ11Z');
  });

  it('is asked for the data of a COPY, all of which is one request', async () => {
    const data = frameOf(front.copyData, Buffer.from('1\n'));
    const end = frameOf(front.copyDone, Buffer.alloc(0));
    const { client, asked, said } = serve(() =>
      asked.length === 1
        ? { code: 'wantsData', isBinary: false }
        : answered(
            frameOf(back.copyInResponse, Buffer.from([0, 0, 1, 0, 0])),
            commandComplete('COPY 1'),
            readyForQuery('I'),
          ),
    );
    client.write(query('COPY t FROM STDIN'));
    await until(() => types(said()).endsWith('G'));
    client.write(Buffer.concat([data, end]));
    await until(() => types(said()) === 'RSKZGCZ');
    expect(asked[1]).toEqual({ seq: 1, bytes: Buffer.concat([query('COPY t FROM STDIN'), data, end]) });
  });

  it('hears 57P03 where nothing was executed, and its number is used again', async () => {
    let tries = 0;
    const { client, asked, said } = serve(() =>
      ++tries === 1 ? { code: 'refused', reason: 'no majority' } : done,
    );
    client.write(query('SELECT 1'));
    await until(() => types(said()) === 'RSKZEZ');
    client.write(query('SELECT 1'));
    await until(() => types(said()) === 'RSKZEZCZ');
    expect(asked.map(({ seq }) => seq)).toEqual([1, 1]);
    expect(said().toString()).toContain('57P03');
  });

  it('is let go with 08007 where nobody knows whether it was executed', async () => {
    const { client, said, ended, closed } = serve(() => ({ code: 'unknown', reason: 'no majority' }));
    client.write(query('INSERT'));
    await ended;
    expect(types(said())).toBe('RSKZE');
    expect(readErrorFields(said().subarray(said().indexOf('E\0'))).get('C')).toBe('08007');
    expect(closed).toEqual([id]);
  });

  it('closes its session when it ends, and when it vanishes', async () => {
    const first = serve(() => done);
    first.client.write(terminate);
    await until(() => first.closed.length === 1);
    const second = serve(() => done);
    await until(() => types(second.said()) === 'RSKZ');
    second.client.end();
    await until(() => second.closed.length === 1);
    expect([first.closed, second.closed]).toEqual([[id], [id]]);
  });

  it('hears why its session could not be opened', async () => {
    const why = errorResponse('FATAL', { sqlState: '3D000', message: 'no such database' });
    const { said, ended } = serve(() => done, { code: 'answered', bytes: why, ended: true });
    await ended;
    expect(said()).toEqual(why);
  });

  it('goes on behind an error of a statement', async () => {
    const { client, said } = serve(() => answered(failure, readyForQuery('E')));
    client.write(query('SELEC'));
    await until(() => types(said()) === 'RSKZEZ');
    expect(said().at(-1)).toBe('E'.charCodeAt(0));
  });

  it('ends with last words when the replica stops', async () => {
    const { session, said, ended, closed } = serve(() => done);
    await until(() => types(said()) === 'RSKZ');
    session.end({ sqlState: '57P01', message: 'stopping' });
    await ended;
    expect(types(said())).toBe('RSKZE');
    expect(closed).toEqual([id]);
  });
});
