import { describe, expect, it } from 'vitest';
import {
  endsSession,
  type ErrorFields,
  errorResponse,
  readyForQuery,
} from '../../../pgwire/backend-messages.ts';
import { doubtFrame } from '../codec/doubt-frame.ts';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import { leaderWentAway } from '../errors.ts';
import { cuts, frame } from '../testing/frames.ts';
import { meaningOf } from './last-words.ts';
import { type UpstreamListener, UpstreamReader } from './upstream-reader.ts';

const leadership = { round: 3, replica: 'r1' as ReplicaId };
const doubt = doubtFrame({ kind: 'transaction', transaction: { leadership, xid: 7n } });
const MiB = 1_048_576;

function createReader(change: Partial<UpstreamListener> = {}): { reader: UpstreamReader; heard: string[] } {
  const heard: string[] = [];
  const note = (what: string) => (): void => void heard.push(what);
  const reader = new UpstreamReader(64 * MiB, {
    authentication: note('authentication'),
    backendKey: note('key'),
    parameter: () => {
      heard.push('parameter');
      return true;
    },
    doubt: note('doubt'),
    copyBegan: note('copy'),
    parseComplete: note('parsed'),
    closeComplete: note('closed'),
    failed: (fields: ErrorFields) => {
      heard.push(`failed ${fields.get('C')}`);
      return true;
    },
    ready: (status, isBare) => {
      heard.push(`${status}${isBare ? ' bare' : ''}`);
      return true;
    },
    ...change,
  });
  return { reader, heard };
}

/** What the client gets, and how much was kept back at most. */
function pass(reader: UpstreamReader, chunks: Iterable<Buffer>): { told: Buffer; heldMax: number } {
  const told: Buffer[] = [];
  let [came, left, heldMax] = [0, 0, 0];
  for (const chunk of chunks) {
    const views = reader.read(chunk);
    told.push(...views.map((view) => Buffer.from(view)));
    came += chunk.length;
    left += views.reduce((sum, view) => sum + view.length, 0);
    heldMax = Math.max(heldMax, came - left);
    if (reader.isOver) break;
  }
  return { told: Buffer.concat(told), heldMax };
}

function* pieces(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function errorOf(message: string, severity: 'ERROR' | 'FATAL' = 'ERROR'): Buffer {
  return errorResponse(severity, { sqlState: '22012', message });
}

describe('what an upstream says', () => {
  it('is passed on as it is, of any length, and little of it is held', () => {
    for (const bytes of [100, 1_024, 16_370, 16_384, 3 * MiB, 20 * MiB]) {
      const { reader, heard } = createReader();
      const answer = Buffer.concat([
        doubt,
        errorOf('x'.repeat(bytes)),
        frame('D', 'y'.repeat(bytes)),
        readyForQuery('I'),
      ]);
      const { told, heldMax } = pass(reader, pieces(answer, 65_536));
      expect(told.equals(answer.subarray(doubt.length))).toBe(true);
      expect(heldMax).toBeLessThan(17_000);
      expect([reader.atBoundary, heard]).toEqual([true, ['doubt', 'failed 22012', 'I']]);
    }
  });

  it('is read however the stream is cut, and never passed on in pieces of messages', () => {
    const answer = Buffer.concat([
      frame('N', 'x'),
      frame('T', 'abc'),
      errorOf('division by zero'),
      readyForQuery('E'),
    ]);
    for (const chunks of cuts(Buffer.concat([doubt, answer]))) {
      const { reader, heard } = createReader();
      for (const chunk of chunks) {
        pass(reader, [chunk]);
        expect(reader.atBoundary).toBe(true);
      }
      expect(heard).toEqual(['doubt', 'failed 22012', 'E']);
    }
    for (const chunks of cuts(answer)) {
      expect(pass(createReader().reader, chunks).told.equals(answer)).toBe(true);
    }
  });

  it('is no message of the client if it is the last of the gateway, however it is cut', () => {
    const words = errorResponse('FATAL', leaderWentAway);
    for (const chunks of cuts(Buffer.concat([readyForQuery('T'), words, frame('D')]))) {
      const { reader } = createReader({
        failed: (fields) => (meaningOf(fields) === null ? true : 'over'),
      });
      expect(pass(reader, chunks).told.equals(readyForQuery('T'))).toBe(true);
      expect([reader.isOver, reader.atBoundary, reader.saidFatal]).toEqual([true, true, false]);
    }
  });

  it('ends the session where PostgreSQL says so', () => {
    const { reader } = createReader();
    const fatal = errorOf('y'.repeat(1_500), 'FATAL');
    expect(pass(reader, [fatal]).told.equals(fatal)).toBe(true);
    expect(reader.saidFatal).toBe(true);
  });

  it('in the middle of a long message leaves no room for another', () => {
    const { reader } = createReader();
    const row = frame('D', 'x'.repeat(50_000));
    reader.read(row.subarray(0, 10_000));
    expect([reader.atBoundary, reader.begun]).toEqual([true, false]);
    reader.read(row.subarray(10_000, 30_000));
    expect([reader.atBoundary, reader.begun]).toEqual([false, true]);
    reader.read(row.subarray(30_000));
    expect(reader.atBoundary).toBe(true);
  });

  it('in other words, or not at all, is not what the client gets', () => {
    const other = frame('E', 'other');
    let times = 0;
    const { reader } = createReader({
      failed: () => other,
      ready: () => {
        times += 1;
        reader.skips = times === 1;
        return times > 1;
      },
    });
    const stream = [
      errorOf('x'),
      readyForQuery('E'),
      frame('C', 'ROLLBACK\0'),
      readyForQuery('I'),
      frame('D'),
    ];
    for (const chunks of cuts(Buffer.concat(stream))) {
      times = 0;
      expect(pass(reader, chunks).told.equals(Buffer.concat([other, readyForQuery('I'), frame('D')]))).toBe(
        true,
      );
    }
  });

  it('to the gateway itself is for it alone, but for what comes at any time', () => {
    for (const chunks of cuts(
      Buffer.concat([frame('1'), frame('A', 'x'), frame('D', 'y'), readyForQuery('I'), frame('D')]),
    )) {
      const { reader } = createReader();
      const took: string[] = [];
      reader.own = {
        take: (type) => {
          took.push(String.fromCharCode(type));
          return type === 'Z'.charCodeAt(0) ? { client: frame('Z', 'I') } : 'goesOn';
        },
      };
      const { told } = pass(reader, chunks);
      expect(told.equals(Buffer.concat([frame('A', 'x'), frame('Z', 'I'), frame('D')]))).toBe(true);
      expect(took).toEqual(['1', 'D', 'Z']);
    }
  });

  it('is for the client where the gateway says that it is no answer of its own', () => {
    for (const chunks of cuts(Buffer.concat([frame('1'), frame('D', 'y'), readyForQuery('I')]))) {
      const { reader } = createReader();
      reader.own = { take: (type) => (type === 'D'.charCodeAt(0) ? 'notMine' : 'goesOn') };
      expect(pass(reader, chunks).told.equals(Buffer.concat([frame('D', 'y'), readyForQuery('I')]))).toBe(
        true,
      );
    }
  });

  it('is for the gateway if it tells of a transaction, whatever else is being answered', () => {
    const { reader, heard } = createReader();
    reader.own = { take: () => 'goesOn' };
    expect(pass(reader, [doubt]).told.length).toBe(0);
    expect(heard).toEqual(['doubt']);
  });
});

it('only a gateway says why it ends a session without its being the last word', () => {
  const said = (message: string, severity: string): unknown =>
    meaningOf(
      new Map([
        ['V', severity],
        ['M', message],
      ]),
    );
  expect(said(leaderWentAway.message, 'FATAL')).toBe('notCommitted');
  expect(said(leaderWentAway.message, 'ERROR')).toBe(null);
  expect(said('terminating connection due to administrator command', 'FATAL')).toBe(null);
  expect(endsSession(new Map([['V', 'FATAL']]))).toBe(true);
});
