/** What peers send, on frames and texts that were recorded and then changed: each is a well-formed message, or refused with a FrameError; and nobody is let in by an answer that was changed. */
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { GroupId, ReplicaId } from '../../multipaxos/types/names.ts';
import { fuzz, fuzzMs, mutated } from '../../ports/testing/fuzz.ts';
import { readCopyText } from './copy-texts.ts';
import { envelopeReader } from './envelope.ts';
import { FrameError } from './fields.ts';
import {
  answerChallenge,
  checkAnswer,
  checkWelcome,
  type Identity,
  newChallenge,
  readAnswer,
  readChallenge,
  readWelcome,
  welcome,
} from './handshake.ts';
import { decodeFrame, encodeControl, encodeMessage, type Frame } from './message-codec.ts';
import { sampleGroup } from './testing/sample-messages.ts';
import { ownVersions } from './versions.ts';

const file = new URL(`./goldens/frames-${ownVersions.newest}.json`, import.meta.url);
const goldens = Object.values(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>).map((hex) =>
  Buffer.from(hex, 'hex'),
);

/** Null: it was refused. */
function refusedOr<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof FrameError) return null;
    throw error;
  }
}

function encode(frame: Frame): Uint8Array {
  return frame.of === 'control' ? encodeControl(frame.message, sampleGroup)! : encodeMessage(frame.message);
}

const mib = 1024 * 1024;
/** Of the heap and beside it. */
function heldMib(): number {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / mib;
}

describe('a frame that was changed', () => {
  it(
    'is a message that would come back as it is, or refused',
    () =>
      fuzz(
        4000,
        fc.property(mutated(goldens), (bytes) => {
          const frame = refusedOr(() => decodeFrame(bytes, sampleGroup));
          const again = frame === null ? null : decodeFrame(encode(frame), sampleGroup);
          expect(again).toEqual(frame);
        }),
      ),
    fuzzMs,
  );

  const hollow = [
    'dd7fffffff',
    'ddffffffff',
    'dfffffffff',
    'c6ffffffff',
    'dbffffffff',
    'c9ffffffff72',
    'dd000f4000',
  ];
  it.each(hollow)('takes no room for what it only says that it has: %s, again and again', (hex) => {
    const head = Buffer.from('85a46b696e64a7507265566f7465a567726f7570a46d61696ea7656e7472696573', 'hex');
    const levels = Buffer.concat(Array.from({ length: 100 }, () => Buffer.from(hex, 'hex')));
    const before = heldMib();
    // With as many bytes behind it as one of them would need, but not all.
    for (const bytes of [head, Buffer.alloc(0)].map((begin) =>
      Buffer.concat([begin, levels, Buffer.alloc(0xf4000)]),
    ))
      expect(refusedOr(() => decodeFrame(bytes, sampleGroup))).toBeNull();
    expect(heldMib() - before).toBeLessThan(100);
  });
});

describe('texts of peers that were changed', () => {
  it('that are refused leave no envelope behind for the next frame', () => {
    const reader = envelopeReader('r2' as ReplicaId);
    expect(() => reader.text(JSON.stringify({ from: 'r3', to: 'r1' }))).toThrow('no incarnation of r2');
    expect(() => reader.current()).toThrow('without an envelope');
  });

  it(
    'are an envelope of an incarnation of who sent it, or refused',
    () => {
      const envelopes = [
        { from: 'r2.3', to: 'r1' },
        { from: 'r2', to: null },
        { from: 'r2.10', to: 'r1.2' },
      ].map((envelope) => Buffer.from(JSON.stringify(envelope)));
      return fuzz(
        3000,
        fc.property(mutated(envelopes), (bytes) => {
          const reader = envelopeReader('r2' as ReplicaId);
          refusedOr(() => reader.text(bytes.toString('utf8')));
          const { from } = refusedOr(() => reader.current()) ?? { from: 'r2' };
          expect(from).toMatch(/^r2(?:\.(?:0|[1-9]\d*))?$/);
        }),
      );
    },
    fuzzMs,
  );

  it(
    'let nobody in but for what he was let in for before, in the handshake',
    () => {
      const identity = (id: string): Identity => ({
        group: 'main' as GroupId,
        id: id as ReplicaId,
        secret: 'the secret',
        cluster: 'c0ffee',
        versions: { oldest: 5, newest: 7 },
      });
      const [listener, dialler] = [identity('r1'), identity('r2')];
      const challenge = newChallenge(listener);
      const answer = answerChallenge(dialler, { to: listener.id, purpose: 'messages' }, challenge, 7);
      const members = new Set(['r1', 'r2', 'r3']);
      const said = welcome(listener, challenge.nonce, answer);
      const texts = [challenge, answer, said].map((text) => Buffer.from(JSON.stringify(text)));
      return fuzz(
        3000,
        fc.property(mutated(texts), (bytes) => {
          const text = bytes.toString('utf8');
          const read = readAnswer(text);
          const verdict = read === null ? null : checkAnswer(listener, members, challenge.nonce, read);
          expect(verdict?.code === 'ok' ? read : answer).toEqual(answer);
          const welcomed = readWelcome(text);
          const isWelcome = welcomed !== null && checkWelcome(dialler, challenge, answer, welcomed) !== null;
          // The version stands in the other two texts only.
          expect(isWelcome ? { cluster: welcomed.cluster, mac: welcomed.mac } : said).toEqual(said);
          const other = readChallenge(text);
          const isOther = other !== null && other.nonce !== challenge.nonce;
          const forOther = isOther
            ? answerChallenge(dialler, { to: listener.id, purpose: 'messages' }, other, 7)
            : null;
          expect(
            forOther === null ? 'refused' : checkAnswer(listener, members, challenge.nonce, forOther).code,
          ).toBe('refused');
        }),
      );
    },
    fuzzMs,
  );

  it(
    'are texts of a copy, or none',
    () => {
      const texts = [
        { begin: true },
        { end: { bytes: 12_345 } },
        { failure: { code: 'sourceBusy', message: 'later' } },
      ].map((text) => Buffer.from(JSON.stringify(text)));
      return fuzz(
        2000,
        fc.property(mutated(texts), (bytes) => {
          const read = readCopyText(bytes.toString('utf8'));
          expect(read === null || Object.keys(read).length === 1).toBe(true);
        }),
      );
    },
    fuzzMs,
  );
});
