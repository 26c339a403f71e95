import { expect, it } from 'vitest';
import { bytesOfName, exactName } from './exact-name.ts';

const bytes = (latin1: string): Buffer => Buffer.from(latin1, 'latin1');

it('a name in UTF-8 is its text', () => {
  for (const name of ['orders', 'naïve', '日本', String.raw`C:\temp`, '\ufeffwith a mark', '\ufffd', ''])
    expect([exactName(Buffer.from(name)), bytesOfName(name)]).toEqual([name, Buffer.from(name)]);
});

it('a byte of another encoding is written as a number', () => {
  expect(exactName(bytes('na\xefve'))).toBe(String.raw`na\xefve`);
  expect(exactName(bytes('t_\xe9\xc3'))).toBe(String.raw`t_\xe9\xc3`);
});

it('names that differ have texts that differ, and each leads back to its name', () => {
  const parts = [
    '',
    '\\',
    'x',
    'e9',
    '5c',
    '\\x',
    '\\xe9',
    '\\x5c',
    '\xe9',
    '\xc3\xa9',
    '\xc3',
    'é',
    '\xff',
    '\xef\xbf\xbd',
  ];
  const names = new Set(parts.flatMap((a) => parts.flatMap((b) => parts.map((c) => a + b + c))));
  const texts = new Set<string>();
  for (const name of names) {
    const text = exactName(bytes(name));
    texts.add(text);
    expect(bytesOfName(text).toString('latin1')).toBe(name);
  }
  expect(texts.size).toBe(names.size);
});
