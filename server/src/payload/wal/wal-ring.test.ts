import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lsn, walBytes } from './testing/entries.ts';
import { WalRing } from './wal-ring.ts';

describe('a ring of WAL', () => {
  it('gives back the newest bytes, whatever was appended, read and cut', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('append' as const), bytes: fc.integer({ min: 1, max: 40 }) }),
      fc.record({ kind: fc.constant('cut' as const), back: fc.integer({ min: 0, max: 60 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 50 }), (steps, bytesMax) => {
        const ring = new WalRing(100, lsn(1000));
        let end = 1000;
        for (const one of steps) {
          if (one.kind === 'append') {
            ring.append(lsn(end), walBytes(end, one.bytes));
            end += one.bytes;
          } else {
            end = Math.max(1000, end - one.back);
            ring.cut(lsn(end));
          }
          for (const from of [end - 30, end - 1, end, 1000]) {
            const found = ring.read(lsn(from), bytesMax);
            if (found === null) continue;
            const bytes = Buffer.concat(found);
            expect(from).toBeLessThan(end);
            expect(from + bytes.length).toBeLessThanOrEqual(end);
            expect(bytes).toEqual(walBytes(from, bytes.length));
          }
        }
      }),
    );
  });

  it('holds all that fits its bound', () => {
    const ring = new WalRing(100, lsn(0));
    for (let at = 0; at < 1000; at += 10) ring.append(lsn(at), walBytes(at, 10));
    expect(ring.read(lsn(900), 1000)).not.toBeNull();
    expect(ring.read(lsn(899), 1000)).toBeNull();
    expect(Buffer.concat(ring.read(lsn(905), 1000) ?? [])).toEqual(walBytes(905, 95));
  });

  it('keeps nothing in memory that it does not hold', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const ring = new WalRing(100, lsn(0));
    const pieces: WeakRef<Buffer>[] = [];
    for (let at = 0; at < 1000; at += 10) {
      const data = walBytes(at, 10);
      pieces.push(new WeakRef(data));
      ring.append(lsn(at), data);
    }
    // What a WeakRef was made of lives until the turn is over.
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    expect(pieces.filter((piece) => piece.deref() !== undefined)).toHaveLength(10);
    expect(ring.read(lsn(900), 1000)).toHaveLength(10);
  });

  it('begins anew where the chain goes on elsewhere', () => {
    const ring = new WalRing(100, lsn(0));
    ring.append(lsn(0), walBytes(0, 10));
    ring.append(lsn(50), walBytes(50, 10));
    expect(ring.read(lsn(5), 10)).toBeNull();
    expect(ring.read(lsn(50), 10)).toHaveLength(1);
  });
});
