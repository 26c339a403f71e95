/** Who counts is called otherwise than who does not. */
import { describe, expect, test } from 'vitest';
import { standingOf } from './standing.ts';
import { membershipOf, replica } from './testing.ts';

const voters = { r1: 'voter', r2: 'voter', r3: 'voter' } as const;
const membership = membershipOf({ ...voters, r3: 'learner' }, { r3: 2 });

describe('a follower', () => {
  test('that votes is called one', () => {
    expect(standingOf(replica('r2', { membership }), 'r1')).toEqual({
      text: 'follower',
      word: null,
      counts: true,
      incarnation: null,
    });
  });

  test('that learns is a learner, of another incarnation', () => {
    expect(standingOf(replica('r3', { membership, incarnation: 2 }), 'r1')).toEqual({
      text: 'learner',
      word: 'learner',
      counts: false,
      incarnation: 'r3.2',
    });
  });

  test('that waits to be let in, or was let out, is none', () => {
    const none = { version: 0, members: [] };
    const waiting = replica('r3', { state: 'joining', incarnation: 0, membership: none });
    expect(standingOf(waiting, 'r1')).toMatchObject({ text: 'not let in yet', counts: false });
    expect(standingOf(replica('r3', { state: 'removed' }), 'r1')).toMatchObject({ text: 'let out' });
  });
});

test('what is silent is called so, whatever it was', () => {
  const paused = replica('r3', { membership, incarnation: 2 }, { process: 'paused' });
  expect(standingOf(paused, 'r1')).toMatchObject({ text: 'frozen', counts: true, incarnation: 'r3.2' });
});

test('a leader leads', () => {
  expect(standingOf(replica('r1', { role: 'leader', membership }), 'r1')).toMatchObject({ text: 'leader' });
});
