import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { createFaultTable, faultRequestSchema, sameFaults } from './fault-table.ts';

const [r1, r2, r3] = ['r1', 'r2', 'r3'] as ReplicaId[] as [ReplicaId, ReplicaId, ReplicaId];
const link = (from: ReplicaId, to: ReplicaId) => ({
  from,
  to,
  cut: false,
  delayMs: 0,
  drop: 0,
  duplicate: 0,
});

describe('the table of link faults', () => {
  it('adds up the faults of a link, one way only, until an amount of 0 takes one off', () => {
    const table = createFaultTable(() => [r1, r2, r3]);
    expect(table.set({ action: 'cut', from: r1, to: r2 })).toBeNull();
    expect(table.set({ action: 'delay', from: r1, to: r2, amount: 50 })).toBeNull();
    expect(table.of(r1)).toEqual([{ ...link(r1, r2), cut: true, delayMs: 50 }]);
    expect(table.of(r2)).toEqual([]);
    table.set({ action: 'cut', from: r1, to: r2, amount: 0 });
    expect(table.of(r1)).toEqual([{ ...link(r1, r2), delayMs: 50 }]);
    table.set({ action: 'delay', from: r1, to: r2, amount: 0 });
    expect(table.of(r1)).toEqual([]);
  });

  it('isolates a replica both ways, and heals', () => {
    const table = createFaultTable(() => [r1, r2, r3]);
    table.isolate(r2);
    expect(table.of(r1)).toEqual([{ ...link(r1, r2), cut: true }]);
    expect(table.of(r2).map(({ to, cut }) => [to, cut])).toEqual([
      [r1, true],
      [r3, true],
    ]);
    table.heal();
    expect([r1, r2, r3].flatMap((id) => table.of(id))).toEqual([]);
  });

  it('refuses links that do not exist and amounts out of bounds, and keeps what it had', () => {
    const table = createFaultTable(() => [r1, r2]);
    expect(table.set({ action: 'cut', from: r1, to: r3 })).toBe('there is no replica r3; there are r1, r2');
    expect(table.set({ action: 'cut', from: r1, to: r1 })).toMatch(/two different/);
    expect(table.set({ action: 'drop', from: r1, to: r2, amount: 2 })).toMatch(/probability/);
    expect(table.of(r1)).toEqual([]);
  });

  it('is compared with what a replica reports whatever the order', () => {
    const [one, two] = [link(r1, r2), { ...link(r1, r3), cut: true }];
    expect(sameFaults([one, two], [two, one])).toBe(true);
    expect(sameFaults([one], [one, two])).toBe(false);
    expect(sameFaults([{ ...one, drop: 0.1 }], [one])).toBe(false);
  });
});

describe('a request for a fault', () => {
  it.each([
    { action: 'crash', replica: 'r1' },
    { action: 'delay', from: 'r1', to: 'r2', amount: 5 },
    { action: 'cut', from: 'r1', to: 'r2' },
    { action: 'cut', from: 'r1', to: 'r2', amount: 0 },
    { action: 'heal' },
  ])('is taken: %j', (request) => {
    expect(faultRequestSchema.safeParse(request).success).toBe(true);
  });
  it.each([
    { action: 'explode', replica: 'r1' },
    { action: 'crash' },
    { action: 'crash', replica: 'r1', to: 'r2' },
    { action: 'cut', from: 'r1' },
    { action: 'cut', from: 'r1', to: 'r2', amount: 0.5 },
    { action: 'delay', from: 'r1', to: 'r2' },
    { action: 'delay', from: 'r1', to: 'r2', amount: 60_001 },
    { action: 'drop', from: 'r1', to: 'r2' },
    { action: 'duplicate', from: 'r1', to: 'r2' },
    { action: 'drop', from: 'r1', to: 'r2', amount: 1.1 },
    { action: 'drop', from: 'r1', to: 'r2', amount: '1' },
    {},
  ])('is refused: %j', (request) => {
    expect(faultRequestSchema.safeParse(request).success).toBe(false);
  });
});
