import { expect, it } from 'vitest';
import { WrongTokens } from './wrong-tokens.ts';

function counter() {
  let nowMs = 0;
  const wrong = new WrongTokens(() => nowMs);
  return { wrong, pass: (ms: number) => (nowMs += ms) };
}

it('ten wrong tokens at once are looked at, and then one a second', () => {
  const { wrong, pass } = counter();
  for (let n = 0; n < 10; n += 1) {
    expect(wrong.waitSeconds('10.0.0.1')).toBe(0);
    wrong.wrong('10.0.0.1');
  }
  expect(wrong.waitSeconds('10.0.0.1')).toBe(1);
  expect(wrong.waitSeconds('10.0.0.2')).toBe(0);
  pass(1000);
  expect(wrong.waitSeconds('10.0.0.1')).toBe(0);
  wrong.wrong('10.0.0.1');
  expect(wrong.waitSeconds('10.0.0.1')).toBe(1);
  pass(60_000);
  for (let n = 0; n < 9; n += 1) wrong.wrong('10.0.0.1');
  expect(wrong.waitSeconds('10.0.0.1')).toBe(0);
});

it('the same machine is known by its network, however its address is written', () => {
  const { wrong } = counter();
  for (let n = 0; n < 10; n += 1) wrong.wrong(`2001:db8:0:5::${n}`);
  expect(wrong.waitSeconds('2001:db8:0:5:aaaa::1')).toBe(1);
  expect(wrong.waitSeconds('2001:db8:0:6::1')).toBe(0);
  for (let n = 0; n < 10; n += 1) wrong.wrong('::ffff:10.0.0.1');
  expect(wrong.waitSeconds('10.0.0.1')).toBe(1);
  expect([wrong.waitSeconds('::1'), wrong.waitSeconds(undefined)]).toEqual([0, 0]);
});

it('of many addresses the newest are remembered', () => {
  const { wrong } = counter();
  for (let n = 0; n < 10; n += 1) wrong.wrong('10.9.9.9');
  for (let n = 0; n < 1024; n += 1) wrong.wrong(`10.1.${n >> 8}.${n & 255}`);
  expect(wrong.waitSeconds('10.9.9.9')).toBe(0);
});
