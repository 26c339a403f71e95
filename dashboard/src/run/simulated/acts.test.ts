import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../../../server/src/multipaxos/types/names.ts';
import { delayMsMax } from '../../../../server/src/adapters/ws-transport/link-faults.ts';
import { type Act, actsMax, amountsMax, readActs, writeActs } from './acts.ts';
import { readAddress, writeAddress } from './run-address.ts';

const [r1, r2, r3] = ['r1', 'r2', 'r3'] as [ReplicaId, ReplicaId, ReplicaId];

const all: readonly Act[] = [
  [0, { action: 'crash', replica: r1 }],
  [1, { action: 'pause', replica: r2 }],
  [1, { action: 'resume', replica: r2 }],
  [2_000, { action: 'restart', replica: r1 }],
  [2_000, { action: 'killPostgres', replica: r3 }],
  [3_000, { action: 'isolate', replica: r3 }],
  [3_001, { action: 'wipe', replica: r1, what: 'log' }],
  [3_002, { action: 'wipe', replica: r1, what: 'database' }],
  [3_003, { action: 'wipe', replica: r1, what: 'both' }],
  [4_000, { action: 'cut', from: r1, to: r2 }],
  [4_000, { action: 'cut', from: r1, to: r2, amount: 0 }],
  [4_000, { action: 'delay', from: r2, to: r1, amount: 200 }],
  [4_000, { action: 'drop', from: r2, to: r1, amount: 0.3 }],
  [4_000, { action: 'duplicate', from: r2, to: r1, amount: 1e-7 }],
  [5_000, { action: 'heal' }],
  [6_000, { action: 'verify', repair: false }],
  [6_000, { action: 'verify', repair: true }],
  [7_000, { action: 'sql', replica: r2, sql: "INSERT INTO a_b VALUES ('50 % of ~ é_&?#')" }],
];

describe('acts in an address', () => {
  it('are read as they were written', () => {
    expect(readActs(writeActs(all))).toEqual(all);
    const address = writeAddress({ seed: 7, replicas: 5, clients: 2, acts: all }, 8_000.7);
    expect(address).toMatch(/^#sim\?[\w=&.~\-!'()*]+$/);
    expect(readAddress(address)).toEqual({
      seed: 7,
      replicas: 5,
      clients: 2,
      acts: all,
      atMs: 8_000,
      problem: null,
    });
  });

  it('that are too many are the first of them', () => {
    const many = Array.from({ length: 400 }, (_, n): Act => [n * 1000, { action: 'crash', replica: r1 }]);
    const text = writeActs(many, 1_000);
    expect(text.length).toBeLessThanOrEqual(1_000);
    const read = readActs(text)!;
    expect(read.length).toBeGreaterThan(50);
    expect(read).toEqual(many.slice(0, read.length));
  });

  it.each([
    'x',
    '0-zz',
    '0-c1_',
    '5-c1_4-c2',
    '0-x12.1',
    '0-q1.~',
    '0-d12',
    'zzzzzzzzzzz-h',
    '0-d11.5',
    '0-x11',
    '0-l12.7',
    '0-t12.1.5',
    `0-d12.${'9'.repeat(400)}`,
  ])('that make no sense are none: %s', (text) => expect(readActs(text)).toBeNull());

  it('have the bounds that a live group has', () => {
    expect(amountsMax.delay).toBe(delayMsMax);
    expect(readActs(`0-d12.${delayMsMax}`)).toHaveLength(1);
    expect(readActs(`0-d12.${delayMsMax + 1}`)).toBeNull();
  });

  it('that are more than there may be are none', () => {
    expect(readActs(Array.from({ length: actsMax + 1 }, () => '0-h').join('_'))).toBeNull();
  });
});

describe('an address', () => {
  it('names a simulated run, or none', () => {
    expect(readAddress('')).toBeNull();
    expect(readAddress('#live')).toBeNull();
    expect(readAddress('#sim')).toMatchObject({ seed: 1, replicas: 3, clients: 4, acts: [], problem: null });
  });

  it('names no replica that the group has not', () => {
    const strange = readAddress('#sim?replicas=3&acts=7ps-c3_7pt-x19');
    expect(strange).toMatchObject({ acts: [], problem: expect.stringContaining('acts names r9') });
    expect(readAddress('#sim?replicas=3&acts=7ps-c0')?.problem).toContain('acts names r0');
    expect(readAddress('#sim?replicas=3&acts=7ps-c3')?.acts).toHaveLength(1);
  });

  it('tells what of it makes no sense', () => {
    const read = readAddress('#sim?seed=-1&replicas=99&acts=nonsense');
    expect(read).toMatchObject({ seed: 1, replicas: 3, acts: [] });
    expect(read?.problem).toContain('replicas must be a whole number from 1 to 7');
  });
});
