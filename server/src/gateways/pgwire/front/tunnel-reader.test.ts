import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import { commandComplete, errorResponse, readyForQuery } from '../codec/backend-messages.ts';
import { doubtFrame } from '../codec/doubt-frame.ts';
import { FrameSplitter } from '../codec/frame-splitter.ts';
import { query, sync } from '../codec/frontend-messages.ts';
import { outcomeUnknown } from '../errors.ts';
import { KnownTransaction } from '../session/known-transaction.ts';
import { RequestTracker } from '../session/request-tracker.ts';
import { cuts, frame } from '../testing/frames.ts';
import { TunnelReader } from './tunnel-reader.ts';

const leadership = { round: 3, replica: 'r1' as ReplicaId };
const doubt = doubtFrame({ kind: 'transaction', transaction: { leadership, xid: 7n } });
const MiB = 1_048_576;

function createReader(): { reader: TunnelReader; tracker: RequestTracker; known: KnownTransaction } {
  const tracker = new RequestTracker();
  const known = new KnownTransaction(tracker);
  const onAuthenticated = (): void => {};
  return {
    reader: new TunnelReader({ frameBytesMax: 64 * MiB, tracker, known, onAuthenticated }),
    tracker,
    known,
  };
}

/** What the client gets, and how much was kept back at most. */
function pass(reader: TunnelReader, chunks: Iterable<Buffer>): { told: Buffer; heldMax: number } {
  const told: Buffer[] = [];
  let [came, left, heldMax] = [0, 0, 0];
  for (const chunk of chunks) {
    const views = reader.read(chunk);
    told.push(...views.map((view) => Buffer.from(view)));
    came += chunk.length;
    left += views.reduce((sum, view) => sum + view.length, 0);
    heldMax = Math.max(heldMax, came - left);
    if (reader.leaderDoubts) break;
  }
  return { told: Buffer.concat(told), heldMax };
}

function* pieces(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function errorOf(message: string, severity: 'ERROR' | 'FATAL' = 'ERROR'): Buffer {
  return errorResponse(severity, { sqlState: '22012', message });
}

describe('what the leader tells a client while its transaction is in doubt', () => {
  it('an error of any length is passed on as it is, and little of it is held', () => {
    for (const bytes of [100, 1_024, 1_100, 3 * MiB, 20 * MiB]) {
      const { reader } = createReader();
      expect(pass(reader, [doubt])).toMatchObject({ told: Buffer.alloc(0) });
      const answer = Buffer.concat([errorOf('x'.repeat(bytes)), readyForQuery('I')]);
      const { told, heldMax } = pass(reader, pieces(answer, 65_536));
      expect(told.equals(answer)).toBe(true);
      expect(heldMax).toBeLessThan(2_048);
      expect(reader.atBoundary).toBe(true);
    }
  });

  it('however the stream is cut', () => {
    const answer = Buffer.concat([frame('N', 'x'), errorOf('division by zero'), readyForQuery('E')]);
    for (const chunks of cuts(Buffer.concat([doubt, answer]))) {
      const { reader, known } = createReader();
      expect(pass(reader, chunks).told.equals(answer)).toBe(true);
      expect([reader.saidFatal, reader.leaderDoubts, reader.begun]).toEqual([false, false, false]);
      expect(known.doubt?.kind).toBe('transaction');
    }
    const fatal = errorOf('y'.repeat(1_500), 'FATAL');
    for (const chunks of cuts(Buffer.concat([doubt, fatal]))) {
      const { reader } = createReader();
      expect(pass(reader, chunks).told.equals(fatal)).toBe(true);
      expect([reader.saidFatal, reader.atBoundary]).toEqual([true, true]);
    }
  });

  it('that it does not know the outcome is kept from the client, however it is cut', () => {
    const words = errorResponse('FATAL', outcomeUnknown('z'.repeat(2_000)));
    for (const chunks of cuts(Buffer.concat([doubt, readyForQuery('T'), words]))) {
      const { reader, tracker } = createReader();
      tracker.startedUp();
      expect(pass(reader, chunks).told.equals(readyForQuery('T'))).toBe(true);
      expect([reader.leaderDoubts, reader.atBoundary, reader.saidFatal]).toEqual([true, true, false]);
    }
  });

  it('in the middle of a long error nothing may be put into the stream', () => {
    const { reader } = createReader();
    const error = errorOf('x'.repeat(5_000));
    reader.read(Buffer.concat([doubt, error.subarray(0, 500)]));
    expect([reader.atBoundary, reader.begun]).toEqual([true, false]);
    reader.read(error.subarray(500, 2_500));
    expect([reader.atBoundary, reader.begun]).toEqual([false, true]);
    reader.read(error.subarray(2_500));
    expect(reader.atBoundary).toBe(true);
  });
});

it('a Sync that a COPY which failed has not ignored is not taken for the answer to what is sent behind it', () => {
  const copyIn = frame('G', '\0\0\0');
  const failed = Buffer.concat([copyIn, errorOf('x'), readyForQuery('I'), readyForQuery('I')]);
  for (const chunks of cuts(failed)) {
    const { reader, tracker } = createReader();
    const messages = Buffer.concat([query('COPY t FROM STDIN'), sync, query('SELECT 1')]);
    const splitter = new FrameSplitter(MiB);
    splitter.feed(messages);
    while (splitter.next()) tracker.sent(splitter, messages);
    pass(reader, chunks);
    expect(tracker.due).toBe(1);
    pass(reader, [commandComplete('SELECT 1'), readyForQuery('I')]);
    expect(tracker.outstanding).toBe(false);
  }
});
