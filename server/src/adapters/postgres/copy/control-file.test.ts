import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readControlFacts, readControlSettings } from './control-file.ts';

/** As initdb leaves it. */
function golden(version: 15 | 18): Buffer {
  return gunzipSync(readFileSync(new URL(`goldens/pg_control-${version}.gz`, import.meta.url)));
}

const sizes = { pageBytes: 8192, segmentPages: 131_072, walPageBytes: 8192, walSegmentBytes: 16_777_216 };

describe('a control file', () => {
  it('says what its cluster rests on, whatever the version', () => {
    expect(readControlFacts(golden(15))).toMatchObject({
      ...sizes,
      controlVersion: 1300,
      catalogVersion: 202209061,
      checksums: true,
    });
    expect(readControlFacts(golden(18))).toMatchObject({
      ...sizes,
      controlVersion: 1800,
      catalogVersion: 202506291,
      checksums: true,
    });
    expect(readControlFacts(golden(18)).system).toBeGreaterThan(2n ** 60n);
  });

  it('says what the WAL was written with', () => {
    for (const version of [15, 18] as const) {
      expect(readControlSettings(golden(version))).toEqual({
        max_connections: 100,
        max_worker_processes: 8,
        max_wal_senders: 10,
        max_prepared_transactions: 0,
        max_locks_per_transaction: 64,
      });
    }
  });

  it('that was altered, cut short or never written is none', () => {
    for (const version of [15, 18] as const) {
      const whole = golden(version);
      for (let at = 0; at < 0x120; at += 1) {
        const altered = Buffer.from(whole);
        altered[at] = (altered[at] ?? 0) ^ 4;
        expect(() => readControlFacts(altered)).toThrow(/pg_control/);
      }
      expect(() => readControlFacts(whole.subarray(0, 0x110))).toThrow(/pg_control/);
    }
    expect(() => readControlFacts(Buffer.alloc(8192))).toThrow(/unknown format/);
    expect(() => readControlFacts(Buffer.alloc(0))).toThrow(/unknown format/);
  });
});
