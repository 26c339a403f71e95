import { describe, expect, it } from 'vitest';
import { levelOf, type LevelRules, SessionLevel } from './session-level.ts';

const strict: LevelRules = { ofGroup: 'semi', mayLower: false };
const free: LevelRules = { ...strict, mayLower: true };
const none: LevelRules = { ofGroup: 'none', mayLower: true };
const set = (value: string | null, more: { isAll?: boolean; isAlone?: boolean } = {}) => ({
  value,
  isAll: false,
  isAlone: true,
  ...more,
});
const all = set(null, { isAll: true });

describe('what a session may ask for', () => {
  it.each([
    ['sync', strict, 'sync'],
    ['semi', strict, 'semi'],
    ['majority', strict, '42501'],
    ['async', strict, '42501'],
    ['async', free, 'async'],
    ['none', free, '22023'],
    ['Sync', free, '22023'],
    ['', free, '22023'],
    ['sync', none, '22023'],
    ['none', none, '0A000'],
  ] as const)('%s', (value, rules, expected) => {
    const level = levelOf(value, rules);
    expect(typeof level === 'string' ? level : level.sqlState).toBe(expected);
  });
});

describe('the level of a session', () => {
  it('is the group’s, until it is set, and what it began with when it is reset', () => {
    const level = new SessionLevel(free, 'sync');
    expect(level.now).toBe('sync');
    expect(level.after(set('async'), false)).toEqual({ level: 'async' });
    expect(level.now).toBe('sync');
    level.now = 'async';
    expect(level.after(set(null), false)).toEqual({ level: 'sync' });
    expect(level.after(all, false)).toEqual({ level: 'sync' });
    expect(new SessionLevel(free, null).after(set(null), false)).toEqual({ level: null });
  });

  it('is set by a message of its own, outside of a transaction', () => {
    const level = new SessionLevel(free, null);
    expect(level.after(set('sync', { isAlone: false }), false)).toMatchObject({ sqlState: '0A000' });
    expect(level.after(set('sync'), true)).toMatchObject({ sqlState: '25001' });
  });

  it('is no reason to refuse that all is reset, where it would not change', () => {
    const level = new SessionLevel(free, null);
    expect(level.after(all, true)).toEqual({ level: null });
    level.now = 'sync';
    expect(level.after(all, true)).toMatchObject({ sqlState: '25001' });
    expect(new SessionLevel(null, null).after(all, true)).toEqual({ level: null });
  });

  it('is nothing where no primary orders', () => {
    expect(new SessionLevel(null, null).after(set('sync'), false)).toMatchObject({ sqlState: '0A000' });
  });

  it('is the stricter of two when nobody knows which', () => {
    const level = new SessionLevel(free, null);
    level.perhaps('async');
    expect(level.now).toBeNull();
    level.perhaps('sync');
    expect(level.now).toBe('sync');
    level.perhaps(null);
    expect(level.now).toBe('sync');
  });
});
