import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Draining } from './draining.ts';

type Tracked = { outstanding: boolean; status: 'I' | 'T' | 'E'; request: number };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function drain(
  tracked: Tracked,
  input = { atBoundary: true },
): { readonly draining: Draining; readonly isOver: () => boolean } {
  let over = false;
  const draining = new Draining(tracked, input, () => {
    over = true;
  });
  draining.look();
  return { draining, isOver: () => over };
}

describe('a session whose leader hands over', () => {
  it('ends as soon as what it has asked is answered', () => {
    const tracked: Tracked = { outstanding: true, status: 'I', request: 7 };
    const { draining, isOver } = drain(tracked);
    vi.advanceTimersByTime(10_000);
    expect(isOver()).toBe(false);
    tracked.outstanding = false;
    draining.look();
    expect(isOver()).toBe(true);
  });

  it('ends when nothing was asked for a moment', () => {
    const { isOver } = drain({ outstanding: false, status: 'I', request: 7 });
    expect(isOver()).toBe(false);
    vi.advanceTimersByTime(25);
    expect(isOver()).toBe(true);
  });

  it('does not end in the middle of a message, of which nothing is under way yet', () => {
    const tracked: Tracked = { outstanding: false, status: 'I', request: 7 };
    const input = { atBoundary: false };
    const { draining, isOver } = drain(tracked, input);
    vi.advanceTimersByTime(10_000);
    expect(isOver()).toBe(false);
    Object.assign(tracked, { request: 8 });
    input.atBoundary = true;
    draining.look();
    expect(isOver()).toBe(true);
  });

  it('may ask once when it has just logged in', () => {
    const tracked: Tracked = { outstanding: true, status: 'I', request: 1 };
    const { draining, isOver } = drain(tracked);
    tracked.outstanding = false;
    draining.look();
    expect(isOver()).toBe(false);
    Object.assign(tracked, { outstanding: true, request: 2 });
    vi.advanceTimersByTime(1000);
    expect(isOver()).toBe(false);
    tracked.outstanding = false;
    draining.look();
    expect(isOver()).toBe(true);
  });

  it('goes on while a transaction is open', () => {
    const tracked: Tracked = { outstanding: false, status: 'T', request: 3 };
    const { draining, isOver } = drain(tracked);
    vi.advanceTimersByTime(1000);
    Object.assign(tracked, { request: 4 });
    draining.look();
    expect(isOver()).toBe(false);
    Object.assign(tracked, { request: 5, status: 'I' });
    draining.look();
    expect(isOver()).toBe(true);
  });
});
