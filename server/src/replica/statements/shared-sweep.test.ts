import { expect, it } from 'vitest';
import { SharedSweep } from './shared-sweep.ts';

type Facts = Parameters<ConstructorParameters<typeof SharedSweep>[0]['close']>;

it('sessions that nobody has used for long are closed, those with a transaction earlier', () => {
  const settings = { client_encoding: 'UTF8', standard_conforming_strings: 'on' };
  const base = { seq: 3, settings, hadUncompared: false, isWaiting: false };
  const open = new Map([
    ['ab1', { ...base, status: 'I' as const }],
    ['ab2', { ...base, status: 'T' as const }],
    ['ab3', { ...base, status: 'T' as const, isWaiting: true }],
    ['cd4', { ...base, status: 'I' as const }],
  ]);
  const closed: Facts[] = [];
  let now = 0;
  const sweep = new SharedSweep({
    prefix: 'ab',
    open: () => open.keys(),
    factsOf: (session) => open.get(session) ?? null,
    close: (...asked) => closed.push(asked),
    nowMs: () => now,
    idleMs: 100,
    openMs: 10,
  });
  sweep.look();
  now = 9;
  sweep.look();
  expect(closed).toEqual([]);
  now = 10;
  sweep.look();
  expect(closed).toEqual([['ab2', 3]]);
  open.delete('ab2');
  now = 99;
  open.set('ab1', { ...base, seq: 4, status: 'I' });
  sweep.look();
  now = 198;
  sweep.look();
  expect(closed).toHaveLength(1);
  now = 199;
  sweep.look();
  expect(closed.at(-1)).toEqual(['ab1', 4]);
});
