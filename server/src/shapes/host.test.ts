import { expect, it } from 'vitest';
import { isHost } from './host.ts';

it.each([
  '127.0.0.1',
  '0.0.0.0',
  '10.0.0.255',
  '::',
  '::1',
  'fd00::1:2',
  '::ffff:10.0.0.1',
  'fe80::1%eth0',
  'fe80::1%br-lan.7',
  'localhost',
  'db1.example.net',
  'db1.example.net.',
  'r1-0.r1_headless.default.svc',
  '1password',
  '4.db',
  'xn--mnchen-3ya.example',
  'münchen.example',
])('%s is one', (text) => {
  expect(isHost(text)).toBe(true);
});

it.each([
  '',
  '.',
  'a..b',
  '10.0.0.256',
  '10.0.0',
  '10.0.0.1.',
  '10.0.0.01',
  '1234',
  'db.0x7f',
  '[::1]',
  '[::1',
  '::1]',
  ':::1',
  '1:2:3',
  'fe80::1%',
  'fe80::1%a%b',
  'fe80::1%a b',
  'a b',
  ' a',
  'a\n',
  'a\0',
  'a:1',
  'a/b',
  'x?y',
  'x#y',
  'u@h',
  'a%b',
  '*.example.net',
])('%j is none', (text) => {
  expect(isHost(text)).toBe(false);
});
