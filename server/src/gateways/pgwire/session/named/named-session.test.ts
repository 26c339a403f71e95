import { afterEach, describe, expect, it, vi } from 'vitest';
import { commandComplete, readyForQuery } from '../../../../pgwire/backend-messages.ts';
import { FrameSplitter } from '../../../../pgwire/frame-splitter.ts';
import { bind, execute, flush, parse, query, sync } from '../../../../pgwire/frontend-messages.ts';
import { defaultLimits } from '../../limits.ts';
import { frame } from '../../testing/frames.ts';
import { createMemoryClientService } from '../../testing/memory-client-service.ts';
import { AnswerReader } from '../answer-reader.ts';
import { RequestTracker } from '../request-tracker.ts';
import { NamedSession } from './named-session.ts';
import { claimAndCommit } from './own-statements.ts';
import { RequestDatabases } from './request-databases.ts';
import { eventually } from '../../../../ports/testing/eventually.ts';

interface Fixture {
  readonly session: NamedSession;
  readonly sent: Buffer[];
  readonly emitted: Buffer[];
  readonly fromClient: (chunk: Buffer) => void;
  readonly fromPostgres: (chunk: Buffer) => void;
}

/** A session whose names are kept in memory, and PostgreSQL played by the test. `failures`: why it has ended; without, it must not end. */
function start(failures?: string[]): Fixture {
  const service = createMemoryClientService(null);
  const sent: Buffer[] = [];
  const emitted: Buffer[] = [];
  const nothing = (): void => {};
  const tracker = new RequestTracker();
  const answers = new AnswerReader(defaultLimits.frameBytesMax, {
    authenticated: nothing,
    backendKey: nothing,
    parameter: nothing,
    copyBegan: nothing,
    failed: nothing,
    ready: nothing,
  });
  const session = new NamedSession({
    tracker,
    answers,
    limits: defaultLimits,
    service,
    databases: new RequestDatabases(service),
    database: 'd',
    generation: 1,
    send: (bytes) => sent.push(bytes),
    reported: new Map(),
    texts: () => new Map(),
    untold: () => 0,
    emit: (bytes) => emitted.push(bytes),
    ready: nothing,
    learn: nothing,
    isInDoubt: () => false,
    pause: nothing,
    resume: nothing,
    fail: ({ sqlState, message }) => {
      if (failures === undefined) throw new Error(message);
      failures.push(sqlState);
    },
  });
  const splitter = new FrameSplitter(defaultLimits.frameBytesMax);
  return {
    session,
    sent,
    emitted,
    fromClient(chunk) {
      splitter.feed(chunk);
      while (splitter.next()) tracker.sent(splitter, chunk);
      const mentions = chunk.includes('barista.request_id');
      session.fromClient(chunk, { boundary: 0, position: 0, hasJustBegun: false, mentions });
    },
    fromPostgres(chunk) {
      answers.read(chunk, session.visitor);
      session.answered();
    },
  };
}

function row(text: string): Buffer {
  const bytes = Buffer.from(`\0\x01\0\0\0\0${text}`);
  bytes.writeInt32BE(text.length, 2);
  return frame('D', bytes);
}

function answered(tag: string): Buffer {
  return Buffer.concat([commandComplete(tag), readyForQuery('I')]);
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a session with names', () => {
  it('reads a message that must wait once, however much of an answer comes meanwhile', async () => {
    const { sent, fromClient, fromPostgres } = start();
    fromClient(query("SET barista.request_id = 'x'"));
    await eventually(() => expect(sent).toHaveLength(1));
    fromPostgres(answered('SET'));
    fromClient(query('SHOW work_mem'));
    const long = query(`SELECT '${'x'.repeat(2_000_000)}'`);
    const read = vi.spyOn(Buffer.prototype, 'toString');
    fromClient(long);
    const longRow = frame('D', Buffer.alloc(1_000));
    for (let n = 0; n < 100; n += 1) fromPostgres(longRow);
    const longReads = read.mock.results.filter(({ value }) => String(value).length > 1_000_000);
    expect(longReads).toHaveLength(1);
    expect(sent.at(-1)?.equals(long)).toBe(false);
    fromPostgres(answered('SET'));
    expect(sent.at(-1)?.equals(long)).toBe(true);
  });

  it('takes nothing that a waiting message does for an act of the transaction before it', async () => {
    for (const acting of ["INSERT INTO log VALUES ('set')", "SELECT pg_notify('a', 'b')"]) {
      const { sent, fromClient, fromPostgres } = start();
      fromClient(query("SET barista.request_id = 'x'"));
      await eventually(() => expect(sent).toHaveLength(1));
      fromPostgres(answered('SET'));
      fromClient(Buffer.concat([query("SELECT set_config('a.b', 'c', false)"), query(acting)]));
      fromPostgres(Buffer.concat([row('unused 16384:5 62'), readyForQuery('T')]));
      fromPostgres(Buffer.concat([commandComplete('SELECT 1'), readyForQuery('T')]));
      expect(sent.at(-1)?.equals(claimAndCommit({ record: 'SELECT 1', acts: false, before: 'b' }))).toBe(
        true,
      );
      fromPostgres(Buffer.concat([row('unused 16384:5 62'), readyForQuery('I')]));
      expect(sent.at(-1)?.equals(query(acting))).toBe(true);
      fromPostgres(Buffer.concat([row('unused 16384:5 62'), readyForQuery('T')]));
      fromPostgres(Buffer.concat([commandComplete('SELECT 1'), readyForQuery('T')]));
      expect(sent.at(-1)?.equals(claimAndCommit({ record: 'SELECT 1', acts: true, before: 'b' }))).toBe(true);
    }
  });

  it.each([
    ['a Query', [query('SELECT 1')]],
    ['a Parse', [parse('', 'SELECT 1')]],
    ['a call', [frame('F', 'x')]],
  ])('ends at %s amid COPY data, which are never ended then', async (_, messages) => {
    const failures: string[] = [];
    const { sent, fromClient, fromPostgres } = start(failures);
    fromClient(query("SET barista.request_id = 'x'"));
    await eventually(() => expect(sent).toHaveLength(1));
    fromPostgres(answered('SET'));
    fromClient(Buffer.concat([query('COPY t FROM STDIN'), frame('d', '1\n'), ...messages]));
    fromPostgres(Buffer.concat([row('unused 16384:5 62'), readyForQuery('T')]));
    expect(failures).toEqual([]);
    fromPostgres(frame('G', '\0\0\0'));
    expect(failures).toEqual(['08P01']);
  });

  it('goes on behind several COPYs of one message whose data were sent at once', async () => {
    const { sent, fromClient, fromPostgres } = start();
    fromClient(query("SET barista.request_id = 'x'"));
    await eventually(() => expect(sent).toHaveLength(1));
    fromPostgres(answered('SET'));
    const data = [frame('d', '1\n'), frame('c')];
    const copies = query('COPY t FROM STDIN; COPY t FROM STDIN');
    fromClient(Buffer.concat([copies, ...data, ...data, query('SELECT 1')]));
    fromPostgres(Buffer.concat([row('unused 16384:5 62'), readyForQuery('T')]));
    for (let n = 0; n < 2; n += 1) {
      fromPostgres(frame('G', '\0\0\0'));
      fromPostgres(commandComplete('COPY 1'));
    }
    fromPostgres(readyForQuery('T'));
    fromPostgres(Buffer.concat([row('claimed 16384:5 62'), readyForQuery('I')]));
    expect(sent.at(-1)?.equals(query('SELECT 1'))).toBe(true);
  });

  it.each([0, 1, 2])(
    'takes %i Syncs that a COPY which failed has not ignored for no other answer',
    async (n) => {
      const { sent, emitted, fromClient, fromPostgres } = start();
      fromClient(query("SET barista.request_id = 'x'"));
      await eventually(() => expect(sent).toHaveLength(1));
      fromPostgres(answered('SET'));
      fromClient(query('BEGIN'));
      fromPostgres(Buffer.concat([commandComplete('BEGIN'), readyForQuery('T')]));
      fromClient(query('COPY t FROM STDIN'));
      fromPostgres(frame('G', '\0\0\0'));
      fromClient(Buffer.concat([frame('d', 'wrong\n'), sync, sync]));
      fromPostgres(Buffer.concat([frame('E', 'VERROR\0\0'), readyForQuery('E')]));
      fromClient(query('ROLLBACK'));
      emitted.length = 0;
      for (let at = 0; at < n; at += 1) fromPostgres(readyForQuery('E'));
      fromClient(query('SELECT 1'));
      expect(sent.at(-1)?.equals(query('ROLLBACK'))).toBe(true);
      fromPostgres(answered('ROLLBACK'));
      expect(sent.at(-1)?.equals(query('SELECT 1'))).toBe(true);
      const types = emitted.map((bytes) => String.fromCharCode(bytes[0]!)).join('');
      expect(types).toBe(`${'Z'.repeat(n)}CZ`);
    },
  );

  it('goes on behind a batch whose Sync was sent while its COPY failed', async () => {
    for (const status of ['I', 'T'] as const) {
      const { sent, fromClient, fromPostgres } = start();
      fromClient(query("SET barista.request_id = 'x'"));
      await eventually(() => expect(sent).toHaveLength(1));
      fromPostgres(Buffer.concat([commandComplete('SET'), readyForQuery(status)]));
      const copy = [parse('', 'COPY t FROM STDIN'), bind({ portal: '', statement: '' }), execute(''), flush];
      fromClient(Buffer.concat(copy));
      if (status === 'I') fromPostgres(Buffer.concat([row('unused 16384:5 62'), readyForQuery('T')]));
      fromPostgres(frame('G', '\0\0\0'));
      fromClient(Buffer.concat([frame('d', 'wrong\n'), sync]));
      fromPostgres(Buffer.concat([frame('E', 'VERROR\0\0'), readyForQuery('E')]));
      if (status === 'I') fromPostgres(answered('ROLLBACK'));
      fromClient(query('ROLLBACK'));
      expect(sent.at(-1)?.equals(query('ROLLBACK'))).toBe(true);
    }
  });

  it('ends where a batch goes on behind a COPY that failed, and it is not known whether its Sync was ignored', async () => {
    const failures: string[] = [];
    const { sent, fromClient, fromPostgres } = start(failures);
    fromClient(query("SET barista.request_id = 'x'"));
    await eventually(() => expect(sent).toHaveLength(1));
    fromPostgres(answered('SET'));
    const copy = [parse('', 'COPY t FROM STDIN'), bind({ portal: '', statement: '' }), execute(''), flush];
    fromClient(Buffer.concat(copy));
    fromPostgres(Buffer.concat([row('unused 16384:5 62'), readyForQuery('T'), frame('G', '\0\0\0')]));
    fromClient(Buffer.concat([frame('d', 'wrong\n'), sync]));
    fromPostgres(frame('E', 'VERROR\0\0'));
    expect(failures).toEqual([]);
    fromClient(parse('', 'SELECT 1'));
    expect(failures).toEqual(['08P01']);
  });
});
