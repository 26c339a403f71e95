import { describe, expect, it } from 'vitest';
import { isAddresses, isOwnMachine } from './addresses.ts';

describe('a list of addresses', () => {
  it.each(['all', 'loopback', '10.1.2.3', '10.0.0.0/8, fd00::/8', '::1/128', 'loopback, 10.1.2.3'])(
    'is %s',
    (text) => {
      expect(isAddresses(text)).toBe(true);
    },
  );

  it.each([
    '',
    'db1',
    '10.1.2',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'fd00::/129',
    '10.1.2.3,',
    'fe80::1%eth0',
  ])('is not %j', (text) => {
    expect(isAddresses(text)).toBe(false);
  });

  it.each([
    ['loopback', true],
    ['127.0.0.1, ::1', true],
    ['127.0.0.0/8', true],
    ['127.0.0.0/7', false],
    ['::1/0', false],
    ['all', false],
    ['loopback, 10.1.2.3', false],
    ['::ffff:127.0.0.1', false],
  ])('%s is of this machine alone: %s', (text, expected) => {
    expect(isOwnMachine(text)).toBe(expected);
  });
});
