import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { Lsn, Timeline } from '../../wal/lsn.ts';
import {
  decodeWalEntry,
  encodeLeadership,
  encodeRange,
  encodeVerify,
  rangeOverhead,
  WalEntryError,
} from './wal-entry.ts';

const ballots = fc.record({
  round: fc.integer({ min: 0, max: 2 ** 47 }),
  replica: fc.stringMatching(/^r[0-9]{1,3}(\.[0-9]{1,3})?$/).map((name) => name as ReplicaId),
});
const lsns = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }).map((value) => value as Lsn);
const timelines = fc.integer({ min: 1, max: 2 ** 32 - 1 }).map((value) => value as Timeline);

describe('an entry of WAL', () => {
  it('is a range that comes back as it was, in one copy of its pieces', () => {
    const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(ballots, timelines, lsns, pieces, (leadership, timeline, start, chunks) => {
        const payload = encodeRange({ leadership, timeline, start }, chunks);
        const data = Buffer.concat(chunks);
        expect(payload.byteLength).toBe(rangeOverhead(leadership) + data.length);
        const entry = decodeWalEntry(payload);
        expect({ ...entry, data: null }).toEqual({ kind: 'range', leadership, timeline, start, data: null });
        if (entry.kind !== 'range') throw new Error('no range');
        expect(Buffer.from(entry.data)).toEqual(data);
        expect(entry.data.buffer).toBe(payload.buffer);
      }),
    );
  });

  it('is a leadership or a comparison that comes back as it was', () => {
    const big = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    fc.assert(
      fc.property(
        ballots,
        timelines,
        lsns,
        big,
        big,
        fc.boolean(),
        (leadership, timeline, fork, nextXid, system, resumes) => {
          const entry = { leadership, timeline, fork, nextXid, resumes, system };
          expect(decodeWalEntry(encodeLeadership(entry))).toEqual({ kind: 'leadership', ...entry });
        },
      ),
    );
    fc.assert(
      fc.property(ballots, fc.string(), (leadership, check) => {
        expect(decodeWalEntry(encodeVerify(leadership, check))).toEqual({
          kind: 'verify',
          leadership,
          check,
        });
      }),
    );
  });

  it('that is cut short, empty, of another version or of another kind is refused', () => {
    const leadership = { round: 3, replica: 'r1' as ReplicaId };
    const whole = encodeLeadership({
      leadership,
      timeline: 2 as Timeline,
      fork: 16 as Lsn,
      nextXid: 5n,
      resumes: false,
      system: 1n,
    });
    for (let bytes = 0; bytes < whole.length; bytes++) {
      expect(() => decodeWalEntry(whole.subarray(0, bytes))).toThrow(WalEntryError);
    }
    const empty = encodeRange({ leadership, timeline: 1 as Timeline, start: 0 as Lsn }, []);
    expect(() => decodeWalEntry(empty)).toThrow('empty');
    expect(() => decodeWalEntry(Uint8Array.of(1, 9, ...whole.subarray(2)))).toThrow('format 9');
    expect(() => decodeWalEntry(Uint8Array.of(77, ...whole.subarray(1)))).toThrow('unknown kind 77');
  });
});
