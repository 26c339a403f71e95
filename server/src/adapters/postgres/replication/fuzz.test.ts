/** Both ends of the stream of WAL, on conversations that were changed: the same messages however they are cut, and refusals in words of our own. */
import fc from 'fast-check';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../../ports/testing/eventually.ts';
import { fuzz, fuzzMs, inPieces, mutated, pieceLengths } from '../../../ports/testing/fuzz.ts';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import { positionNone } from '../../../wal/position.ts';
import { timelineFile } from '../../../wal/timeline-file.ts';
import { socketPort } from '../data-directory.ts';
import * as wire from './messages.ts';
import { openStandbyFeed, type StandbyFeed } from './standby-feed.ts';

const base = 0x3000000 as Lsn;
const end = (base + 1000) as Lsn;
const wal = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 251));

const primary = Buffer.concat([
  wire.authenticationOk,
  wire.parameterStatus('server_version', '18.4'),
  wire.readyForQuery,
  wire.copyBothResponse,
  wire.walHead(base, end, 700),
  wal.subarray(0, 700),
  wire.keepalive(end, true),
  wire.walHead((base + 700) as Lsn, end, 300),
  wal.subarray(700),
  wire.errorResponse('57P01', 'it goes'),
  wire.copyDone,
]);
const standby = (password: string): Buffer =>
  Buffer.concat([
    wire.startupPacket({ user: 'barista_feed', replication: 'true' }),
    wire.message('p', wire.cString(password)),
    wire.message('Q', wire.cString('IDENTIFY_SYSTEM')),
    wire.message('Q', wire.cString('TIMELINE_HISTORY 2')),
    wire.message('Q', wire.cString(wire.startReplication(base, 1 as Timeline, null))),
    wire.standbyStatus((base + 500) as Lsn, true),
    wire.standbyStatus(end, false),
    wire.message('c'),
    wire.message('X'),
  ]);

const ownWords =
  /^(?:a message has the length -?\d+|the primary sent something that is neither WAL nor a sign of life)$/;

/** What was understood, as text, and the words of the refusal. */
function understood(pieces: readonly Buffer[]): readonly string[] {
  const reader = new wire.MessageReader();
  const said: string[] = [];
  try {
    for (const piece of pieces)
      for (const { type, body } of reader.push(piece)) said.push(`${type} ${body.toString('hex')}`);
  } catch (error) {
    // Messages that came together with it are lost, as the stream is.
    return [(error as Error).message];
  }
  return said;
}

describe('the stream of a walsender and that of a walreceiver', () => {
  it(
    'are the same messages however they are cut, or refused for a length',
    () =>
      fuzz(
        400,
        fc.property(mutated([primary, standby('x')]), pieceLengths, pieceLengths, (bytes, one, other) => {
          const said = understood(inPieces(bytes, one));
          expect(understood(inPieces(bytes, other))).toEqual(said);
          expect(said.every((text) => /^\d+ [\da-f]*$/.test(text) || ownWords.test(text))).toBe(true);
        }),
      ),
    fuzzMs,
  );

  it(
    'say WAL, a sign of life, a report, or nothing that is known',
    () => {
      const bodies = new wire.MessageReader()
        .push(Buffer.concat([primary, wire.standbyStatus(end, true)]))
        .flatMap(({ type, body }) => (type === wire.letter('d') ? [Buffer.from(body)] : []));
      return fuzz(
        2000,
        fc.property(mutated(bodies), (body) => {
          let said = '';
          try {
            said = wire.readFromPrimary(body).kind;
          } catch (error) {
            said = (error as Error).message;
          }
          expect(said).toMatch(
            /^(?:wal|keepalive|the primary sent something that is neither WAL nor a sign of life)$/,
          );
          const report = wire.readStandbyStatus(body);
          expect(report === null || Number.isFinite(report.flushed)).toBe(true);
        }),
      );
    },
    fuzzMs,
  );
});

describe('the feed of a standby', () => {
  let root = '';
  let feed: StandbyFeed;
  let password = '';
  const reports: number[] = [];
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'barista-feed-'));
    const position = { ...positionNone, system: 7n, timeline: 1 as Timeline, end };
    feed = await openStandbyFeed({
      socketDir: root,
      postgresVersion: '18.4',
      gatherMs: 0,
      source: {
        position: () => position,
        read(from) {
          if (from < base) throw new Error('there is no WAL any more');
          return from >= end ? null : [wal.subarray(from - base)];
        },
        history: (timeline) => timelineFile(position, timeline),
      },
      onReport: ({ written, flushed, replayed }) => reports.push(written, flushed, replayed),
      onStreaming: () => undefined,
      onEnded: () => undefined,
    });
    password = /password=(\S+)/.exec(feed.connectionInfo)![1]!;
  });
  afterAll(async () => {
    await feed.close();
    rmSync(root, { recursive: true });
  });

  /** Says this, and hears out what is answered until the feed ends it or has nothing to say. */
  function say(pieces: readonly Buffer[]): Promise<Buffer> {
    return new Promise((resolve) => {
      const heard: Buffer[] = [];
      const socket = connect(join(root, `.s.PGSQL.${socketPort}`));
      const done = (): void => {
        socket.destroy();
        resolve(Buffer.concat(heard));
      };
      socket.on('error', done).on('close', done);
      socket.on('data', (chunk: Buffer) => heard.push(chunk));
      for (const piece of pieces) socket.write(piece);
      socket.end();
    });
  }

  it(
    'hears no report of more than was sent, and tells WAL to nobody without the password, whatever is said; and goes on',
    async () => {
      await fuzz(
        150,
        fc.asyncProperty(fc.boolean(), fc.nat(), pieceLengths, async (knows, pick, lengths) => {
          const [bytes] = fc.sample(mutated([standby(knows ? password : 'guess')]), {
            numRuns: 1,
            seed: pick,
          });
          const heard = await say(inPieces(bytes!, lengths));
          expect(reports.splice(0).every((lsn) => lsn <= end)).toBe(true);
          expect(!knows && heard.includes(wal.subarray(0, 50))).toBe(false);
        }),
      );
      const heard = await say([standby(password).subarray(0, -10)]);
      expect(heard.includes(wal)).toBe(true);
      await eventually(() => expect(feed.connected).toBe(false));
    },
    fuzzMs,
  );
});
