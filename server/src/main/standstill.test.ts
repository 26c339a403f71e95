import { expect, it } from 'vitest';
import { standstillBetween, standstillWords } from './standstill.ts';

const before = { nowMs: 5_000, cpuMs: 100 };

it('a look that comes up to a second late is no standstill', () => {
  expect(standstillBetween(before, { nowMs: 6_000, cpuMs: 900 })).toBeNull();
  expect(standstillBetween(before, { nowMs: 6_999, cpuMs: 2_000 })).toBeNull();
});

it('a later one is, with the time of a processor that was used', () => {
  expect(standstillBetween(before, { nowMs: 43_000, cpuMs: 36_100 })).toEqual({ ms: 37_000, cpuMs: 36_000 });
});

it('its words tell work that is too long from a process that did not run', () => {
  expect(standstillWords({ ms: 37_000, cpuMs: 36_000 })).toMatch(/for 37\.0 s; the process computed/);
  expect(standstillWords({ ms: 3_000, cpuMs: 40 })).toMatch(/hardly ran/);
});
