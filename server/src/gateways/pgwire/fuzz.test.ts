/** What reads the bytes of clients and servers, on sessions that were recorded and then changed: it breaks off with a ProtocolViolation or not at all, and makes the same of them however they are cut. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fuzz, fuzzMs, inPieces, mutated, pieceLengths } from '../../ports/testing/fuzz.ts';
import { readSaslChoice } from './codec/authentication-messages.ts';
import { FrameGatherer } from '../../pgwire/frame-gatherer.ts';
import { FrameSplitter } from '../../pgwire/frame-splitter.ts';
import { doubtFrame } from './codec/doubt-frame.ts';
import { ProtocolViolation } from '../../pgwire/protocol-violation.ts';
import {
  databaseOf,
  plainStartup,
  readFirstPacket,
  roleOf,
  startupForBackend,
  startupForTunnel,
} from './codec/startup.ts';
import { startupSetting } from './codec/startup-options.ts';
import type { StatementKind } from '../../pgwire/statement-kinds.ts';
import { StatementReader } from '../../pgwire/statement-reader.ts';
import { UpstreamReader } from './kept/upstream-reader.ts';
import { AnswerReader } from './session/answer-reader.ts';
import { ClientInput } from './session/client-input.ts';
import { RequestTracker } from './session/request-tracker.ts';
import { messagesOf, readCapturedSessions } from './testing/captured-sessions.ts';
import { frame } from './testing/frames.ts';
import { startup } from './testing/startup.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';

const sessions = readCapturedSessions();
const leadership = { round: 3, replica: 'r1' as ReplicaId };
const doubt = doubtFrame({ kind: 'transaction', transaction: { leadership, xid: 7n } });
const fronts = sessions.map(messagesOf);
/** A message that is longer than what is held of one, and may come whole. */
const long = Buffer.concat([frame('S', `search_path\0${'x'.repeat(20_000)}\0`), frame('Z', 'I')]);
const backs = [long, ...sessions.map(({ back }) => back), Buffer.concat([doubt, frame('Z', 'I')])];
/** As long as no message of a session, so that lengths above it are tried, too. */
const frameBytesMax = 30_000;
const stream = (samples: readonly Buffer[]) => fc.tuple(mutated(samples), pieceLengths, pieceLengths);

/** Feeds `read` until it refuses. The words of its refusal, or null. */
function feed(pieces: readonly Buffer[], read: (piece: Buffer) => void): string | null {
  for (const piece of pieces) {
    try {
      read(piece);
    } catch (error) {
      if (error instanceof ProtocolViolation) return error.message;
      throw error;
    }
  }
  return null;
}

/** Holds that both ways of cutting come to the same. */
function expectSame(
  bytes: Buffer,
  cuts: readonly (readonly number[])[],
  look: (pieces: readonly Buffer[]) => unknown,
): void {
  const [one, other] = cuts.map((lengths) => look(inPieces(bytes, lengths)));
  expect(other).toEqual(one);
}

describe('bytes of a client', () => {
  it(
    'are the same messages, or the same violation, however they are cut',
    () =>
      fuzz(
        400,
        fc.property(stream([...fronts, ...backs]), ([bytes, ...cuts]) => {
          expectSame(bytes, cuts, (pieces) => {
            const splitter = new FrameSplitter(frameBytesMax);
            const gatherer = new FrameGatherer(frameBytesMax);
            const messages: string[] = [];
            let parts = 0;
            const refusal = feed(pieces, (piece) => {
              splitter.feed(piece);
              while (splitter.next()) {
                parts += splitter.end - splitter.start;
                expect(splitter.payload).toBeLessThanOrEqual(splitter.end);
                const message = gatherer.add(splitter, piece);
                if (message !== null) messages.push(message.toString('hex'));
              }
            });
            return { messages, refusal, ...(refusal === null ? { parts } : {}) };
          });
        }),
      ),
    fuzzMs,
  );

  it(
    'owe the same answers, and what is said of outcomes is never less for a cut',
    () =>
      fuzz(
        400,
        fc.property(stream(fronts), fc.array(fc.nat(7), { maxLength: 20 }), ([bytes, ...cuts], told) => {
          const ranks = { nothing: 0, one: 1, several: 2 };
          const follow = (pieces: readonly Buffer[]) => {
            const tracker = new RequestTracker();
            tracker.startedUp();
            tracker.told(1, 'I');
            const splitter = new FrameSplitter(frameBytesMax);
            const refusal = feed(pieces, (piece) => {
              splitter.feed(piece);
              while (splitter.next()) tracker.sent(splitter, piece);
            });
            return { tracker, refusal };
          };
          const whole = follow([bytes]);
          for (const lengths of cuts) {
            const { tracker, refusal } = follow(inPieces(bytes, lengths));
            expect(refusal).toBe(whole.refusal);
            if (refusal !== null) continue;
            for (const what of ['due', 'open', 'outstanding', 'terminated', 'request'] as const)
              expect([what, tracker[what]]).toEqual([what, whole.tracker[what]]);
            expect(ranks[tracker.verdict]).toBeGreaterThanOrEqual(ranks[whole.tracker.verdict]);
            answer(tracker, told);
          }
        }),
      ),
    fuzzMs,
  );

  it(
    'mention the same settings, and owe no less than nothing, however they are cut',
    () =>
      fuzz(
        300,
        fc.property(stream([...fronts, mentioning]), ([bytes, ...cuts]) => {
          expectSame(bytes, cuts, (pieces) => {
            const tracker = new RequestTracker();
            const input = new ClientInput(tracker, frameBytesMax);
            const mention = { commit: false, request: false };
            const refusal = feed(pieces, (piece) => {
              const found = input.read(piece);
              mention.commit ||= found?.commit ?? false;
              mention.request ||= found?.request ?? false;
            });
            expect(tracker.due).toBeGreaterThanOrEqual(0);
            return refusal ?? mention;
          });
        }),
      ),
    fuzzMs,
  );

  it(
    'are the same statements however the text is cut',
    () =>
      fuzz(
        1000,
        fc.property(
          stream(texts),
          fc.boolean(),
          fc.boolean(),
          ([bytes, ...cuts], backslashEscapes, mixedBytes) => {
            expectSame(bytes, cuts, (pieces) => {
              const kinds: StatementKind[] = [];
              const reader = new StatementReader({ backslashEscapes, mixedBytes }, (kind) =>
                kinds.push(kind),
              );
              for (const piece of pieces) reader.push(piece, 0, piece.length);
              reader.end();
              return kinds;
            });
          },
        ),
      ),
    fuzzMs,
  );
});

/** Answers in an order that no server has. */
function answer(tracker: RequestTracker, order: readonly number[]): void {
  for (const which of order) {
    if (which < 2) tracker.told(which + 1, which === 0 ? 'I' : 'T');
    else if (which < 4) tracker.copyBegan(which - 2);
    else if (which < 6) tracker.failed(which - 4);
    else tracker.ready(which === 6, 0);
    expect([tracker.due >= 0, typeof tracker.verdict]).toEqual([true, 'string']);
  }
}

const mentioning = Buffer.concat([
  frame('Q', "SET barista.request_id = 'a'; SET synchronous_commit = off\0"),
  frame('P', 's\0ALTER ROLE x SET synchronous_commit = off\0\0\0'),
  frame('B', '\0s\0\0\0\0\x01\0\0\0\x12synchronous_commit\0\0'),
  frame('Q', 'CREATE /* x */ SUBSCRIPTION s; SELECT "barista" /* y */ . request_id\0'),
]);
const texts = [
  "BEGIN; SELECT $q$ ; COMMIT $q$, E'\\'; COMMIT', 'it''s;' -- ; COMMIT\n; COMMIT AND CHAIN; /* /* ; */ */ END",
  'CREATE FUNCTION f() BEGIN ATOMIC SELECT 1; END; create index concurrently i on "a;b" ((x + 1)); DO $$ x $$',
  "SET a = b; PREPARE TRANSACTION 'x'; ROLLBACK TO s; VACUUM (FULL) t; e'a' 'b\\';' ; commit prepared 'x'",
].map((text) => Buffer.from(text));

describe('the first packet of a connection', () => {
  const packets = [
    ...sessions.map(({ front }) => Buffer.from(front.subarray(0, front.readInt32BE(0)))),
    startup({ user: 'a', options: '-c a=b --c-d=e\\ f -cg=h', database: 'd', '_pq_.x': 'y' }),
    startupForTunnel(
      { kind: 'startup', version: 3 << 16, parameters: [['user', 'a']], tunnelNonce: null },
      Buffer.alloc(16, 7),
    ),
    Buffer.from('0000000804d2162f', 'hex'),
    Buffer.from('0000001004d2162e0000000100000002', 'hex'),
  ];

  it(
    'is read as soon as it is there, and the same then; or is refused',
    () =>
      fuzz(
        2000,
        fc.property(mutated(packets), fc.nat(), (bytes, cut) => {
          const read = (what: Buffer) => {
            try {
              return readFirstPacket(what);
            } catch (error) {
              if (error instanceof ProtocolViolation) return error.message;
              throw error;
            }
          };
          const whole = read(bytes);
          const earlier = read(bytes.subarray(0, cut % (bytes.length + 1)));
          expect(earlier ?? whole).toEqual(whole);
          if (whole === null || typeof whole === 'string' || whole.packet.kind !== 'startup') return;
          // PostgreSQL is to see the role and the database that were judged.
          const plain = plainStartup(whole.packet);
          const again = readFirstPacket(startupForBackend(plain))?.packet;
          if (again?.kind !== 'startup') throw new Error('the packet for PostgreSQL is none');
          expect([roleOf(again), databaseOf(again), again.tunnelNonce]).toEqual([
            roleOf(plain),
            databaseOf(plain),
            null,
          ]);
          expect(startupSetting(again, 'a')).toBe(startupSetting(plain, 'a'));
        }),
      ),
    fuzzMs,
  );

  it(
    'and what a client says to prove itself',
    () => {
      const answers = sessions.map(({ front }) => front.subarray(front.readInt32BE(0) + 5));
      return fuzz(
        1000,
        fc.property(mutated(answers), (bytes) => {
          feed([bytes], (piece) => {
            const { data, mechanism } = readSaslChoice(piece);
            expect((data?.length ?? 0) + mechanism.length).toBeLessThanOrEqual(bytes.length);
          });
        }),
      );
    },
    fuzzMs,
  );
});

describe('bytes of a server', () => {
  it(
    'mean the same to a session, however they are cut',
    () =>
      fuzz(
        400,
        fc.property(stream(backs), ([bytes, ...cuts]) => {
          expectSame(bytes, cuts, (pieces) => {
            const heard: string[] = [];
            let [readies, saidFatal] = [0, false];
            const reader = new AnswerReader(frameBytesMax, {
              authenticated: () => heard.push('authenticated'),
              backendKey: (key) => heard.push(`key ${key.toString('hex')}`),
              parameter: (name, value) => heard.push(`${name}=${value}`),
              copyBegan: () => heard.push('copy'),
              failed: () => heard.push('failed'),
              fatal: (code) => heard.push(`fatal ${code}`),
              ready: (isBare) => heard.push(`ready ${isBare}`),
            });
            const refusal = feed(pieces, (piece) => {
              reader.read(piece);
              readies += reader.readies;
              saidFatal ||= reader.saidFatal;
            });
            if (refusal !== null) return { heard, refusal };
            return { heard, readies, saidFatal, status: reader.status, atBoundary: reader.atBoundary };
          });
        }),
      ),
    fuzzMs,
  );

  it(
    'that come through a tunnel are passed on, and mean, the same however they are cut',
    () =>
      fuzz(
        400,
        fc.property(stream(backs), ([bytes, ...cuts]) => {
          const looks = cuts.map((lengths) => throughTunnel(inPieces(bytes, lengths)));
          const [one, other] = looks as [Passed, Passed];
          expect([other.refusal, other.heard]).toEqual([one.refusal, one.heard]);
          expect(Math.max(one.heldMax, other.heldMax)).toBeLessThan(16_384 + 5);
          // What came in one chunk with a violation is not passed on.
          const lengths = [one.told.length, other.told.length];
          const common = one.refusal === null ? Math.max(...lengths) : Math.min(...lengths);
          expect(other.told.subarray(0, common).equals(one.told.subarray(0, common))).toBe(true);
        }),
      ),
    fuzzMs,
  );
});

interface Passed {
  readonly refusal: string | null;
  readonly heard: readonly string[];
  readonly told: Buffer;
  /** What was held back at most. */
  readonly heldMax: number;
}

function throughTunnel(pieces: readonly Buffer[]): Passed {
  const heard: string[] = [];
  const told: Buffer[] = [];
  let [came, gone, forUs, heldMax] = [0, 0, 0, 0];
  const reader = new UpstreamReader(frameBytesMax, {
    authentication: (isOver) => heard.push(`authentication ${isOver}`),
    backendKey: (key) => heard.push(`key ${key.toString('hex')}`),
    parameter: (name, value) => heard.push(`${name}=${value}`) > 0,
    doubt: () => {
      heard.push('doubt');
      forUs += 1;
    },
    copyBegan: () => heard.push('copy'),
    parseComplete: () => heard.push('parsed'),
    closeComplete: () => heard.push('closed'),
    failed: (fields) => {
      heard.push(`failed ${fields.get('C')}`);
      return true;
    },
    ready: (status, isBare) => {
      heard.push(`ready ${status} ${isBare}`);
      return true;
    },
  });
  const refusal = feed(pieces, (piece) => {
    came += piece.length;
    for (const view of reader.read(piece)) {
      told.push(Buffer.from(view));
      gone += view.length;
    }
    // A message between replicas is kept.
    if (forUs === 0) heldMax = Math.max(heldMax, came - gone);
  });
  return { refusal, heard, told: Buffer.concat(told), heldMax };
}

it('the recorded sessions are whole, and nobody refuses them', () => {
  for (const { front, back, name } of sessions) {
    expect(readFirstPacket(front)?.packet.kind).toBe('startup');
    const tracker = new RequestTracker();
    const input = new ClientInput(tracker, frameBytesMax);
    const passed = throughTunnel([back]);
    expect([name, feed([messagesOf({ name, front, back })], (piece) => input.read(piece))]).toEqual([
      name,
      null,
    ]);
    expect([tracker.terminated, passed.refusal, passed.told.equals(back)]).toEqual([true, null, true]);
  }
});
