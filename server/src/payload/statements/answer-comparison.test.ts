import { describe, expect, it } from 'vitest';
import { AnswerComparison, type Verdict } from './answer-comparison.ts';

function comparison(voters: readonly string[] = ['r1', 'r2', 'r3'], slotsMax = 100) {
  const one = new AnswerComparison({ self: 'r1', voters: () => voters, slotsMax });
  const tell = (replica: string, slot: number, digest: string): Verdict =>
    one.tell(replica, [{ slot, digest }]);
  return { one, tell };
}

describe('answers that are compared', () => {
  it('are right where a majority has them, whoever else differs', () => {
    const { tell } = comparison();
    tell('r1', 1, 'a');
    expect(tell('r2', 1, 'a')).toEqual({ code: 'right' });
    expect(tell('r3', 1, 'b')).toEqual({ code: 'right' });
  });

  it('are wrong where a majority has others, however late it tells', () => {
    const { tell } = comparison();
    tell('r1', 1, 'b');
    tell('r1', 2, 'c');
    tell('r2', 1, 'a');
    expect(tell('r3', 1, 'a')).toEqual({ code: 'wrong', slot: 1, equal: ['r2', 'r3'] });
  });

  it('are in doubt while two differ and the third has not told, and not any more when it has', () => {
    const { tell } = comparison();
    tell('r1', 1, 'a');
    const doubt = { code: 'doubt', slot: 1, differing: ['r1', 'r2'], isFinal: false, claimant: 'r1' };
    expect(tell('r2', 1, 'b')).toEqual(doubt);
    tell('r1', 2, 'c');
    expect(tell('r2', 2, 'c')).toEqual(doubt);
    expect(tell('r3', 1, 'a')).toEqual({ code: 'right' });
  });

  it('are in doubt for good where everybody says something else, and where two are all', () => {
    const three = comparison();
    three.tell('r1', 1, 'a');
    three.tell('r2', 1, 'b');
    expect(three.tell('r3', 1, 'c')).toMatchObject({ code: 'doubt', isFinal: true });
    const two = comparison(['r1', 'r2']);
    two.tell('r1', 1, 'a');
    expect(two.tell('r2', 1, 'b')).toMatchObject({ code: 'doubt', isFinal: true });
  });

  it('name whose database is to go on where no majority agrees: the first of those that are equal to most', () => {
    const { tell } = comparison(['r1', 'r2', 'r3', 'r4', 'r5']);
    tell('r1', 1, 'a');
    tell('r2', 1, 'b');
    tell('r5', 1, 'c');
    tell('r3', 1, 'c');
    expect(tell('r4', 1, 'd')).toMatchObject({ code: 'doubt', isFinal: true, claimant: 'r3' });
  });

  it('are in doubt no more, and not compared, up to where all go on from one database', () => {
    const { one, tell } = comparison();
    tell('r1', 1, 'a');
    tell('r2', 1, 'b');
    tell('r3', 1, 'c');
    one.settle(2);
    expect(one.size).toBe(0);
    expect(tell('r1', 2, 'a')).toEqual({ code: 'right' });
    expect(tell('r2', 2, 'b')).toEqual({ code: 'right' });
    tell('r1', 3, 'a');
    expect(tell('r2', 3, 'b')).toMatchObject({ code: 'doubt', slot: 3 });
  });

  it("are nobody's measure behind a slot at which all differ", () => {
    const { tell } = comparison();
    for (const [replica, digest] of [
      ['r1', 'a'],
      ['r2', 'b'],
      ['r3', 'c'],
    ] as const)
      tell(replica, 1, digest);
    tell('r1', 2, 'a');
    tell('r2', 2, 'b');
    expect(tell('r3', 2, 'b')).toMatchObject({ code: 'doubt', slot: 1, isFinal: true });
  });

  it('do not count of who is no voter, and say nothing of who has not answered', () => {
    const { tell } = comparison();
    tell('r2', 1, 'a');
    expect(tell('r3', 1, 'b')).toEqual({ code: 'right' });
    tell('r1', 2, 'a');
    expect(tell('r4', 2, 'b')).toEqual({ code: 'right' });
  });

  it('are what was told last: a database that was replaced tells anew', () => {
    const { one, tell } = comparison();
    tell('r1', 1, 'b');
    tell('r2', 1, 'a');
    one.forgetOwn(true);
    expect(tell('r3', 1, 'a')).toEqual({ code: 'right' });
    expect(tell('r1', 1, 'a')).toEqual({ code: 'right' });
  });

  it('are forgotten when they are old', () => {
    const { one, tell } = comparison(['r1', 'r2', 'r3'], 10);
    for (let slot = 1; slot <= 100; slot += 1) tell('r1', slot, 'a');
    expect(one.size).toBe(10);
    tell('r2', 1, 'b');
    expect(tell('r3', 1, 'b')).toEqual({ code: 'right' });
    expect(one.size).toBe(10);
  });
});

describe('an answer that a majority had', () => {
  it('stays with whoever gave it, whatever others say when they execute anew, and is told to them', () => {
    const corrected: unknown[] = [];
    const one = new AnswerComparison({
      self: 'r1',
      voters: () => ['r1', 'r2', 'r3'],
      slotsMax: 100,
      onOtherwise: (replica, held) => corrected.push([replica, held]),
    });
    for (const [replica, digest] of [
      ['r1', 'a'],
      ['r2', 'a'],
      ['r3', 'b'],
      // The second was killed, and executes anew.
      ['r2', 'b'],
    ] as const)
      expect(one.tell(replica, [{ slot: 7, digest }])).toEqual({ code: 'right' });
    // The first word of each, and again with the second's.
    expect(corrected).toEqual([
      ['r3', { slot: 7, digest: 'a' }],
      ['r2', { slot: 7, digest: 'a' }],
      ['r3', { slot: 7, digest: 'a' }],
    ]);
  });

  it('is lost where its own database, or another replica that holds it, says otherwise', () => {
    const { one, tell } = comparison();
    tell('r1', 7, 'a');
    tell('r2', 7, 'a');
    expect(one.loses(7, 'a')).toBe(false);
    expect(one.loses(7, 'c')).toBe(true);
    expect(one.standsAt).toBe(7);
    const other = comparison();
    other.tell('r1', 7, 'c');
    expect(other.one.tellHeld('r2', { slot: 7, digest: 'a' })).toEqual({
      code: 'lost',
      slot: 7,
      isHeldElsewhere: true,
    });
    expect(other.one.tellHeld('r2', { slot: 8, digest: 'a' })).toBeNull();
  });

  it('is wrong where a majority holds another one, and not where a single replica does', () => {
    const { one, tell } = comparison();
    tell('r1', 7, 'a');
    tell('r2', 7, 'a');
    expect(one.tellHeld('r2', { slot: 7, digest: 'b' })).toBeNull();
    expect(one.tellHeld('r3', { slot: 7, digest: 'c' })).toBeNull();
    expect(one.tellHeld('r3', { slot: 7, digest: 'b' })).toEqual({
      code: 'wrong',
      slot: 7,
      equal: ['r2', 'r3'],
    });
    expect(one.standsAt).toBeNull();
  });

  it('is told to whoever answered otherwise before the majority was known, and not by one that has lost it', () => {
    const corrected: string[] = [];
    const one = new AnswerComparison({
      self: 'r1',
      voters: () => ['r1', 'r2', 'r3'],
      slotsMax: 100,
      onOtherwise: (replica) => corrected.push(replica),
    });
    one.tell('r3', [{ slot: 7, digest: 'b' }]);
    one.tell('r1', [{ slot: 7, digest: 'a' }]);
    expect(corrected).toEqual([]);
    one.tell('r2', [{ slot: 7, digest: 'a' }]);
    expect(corrected).toEqual(['r3']);
  });

  it('is none behind a slot at which all differ: whose database goes on is not open to words', () => {
    const { one, tell } = comparison();
    for (const [replica, digest] of [
      ['r1', 'a'],
      ['r2', 'b'],
      ['r3', 'c'],
    ] as const)
      tell(replica, 5, digest);
    tell('r1', 9, 'x');
    tell('r2', 9, 'y');
    tell('r3', 9, 'y');
    expect(one.tellHeld('r2', { slot: 9, digest: 'y' })).toBeNull();
    expect(one.standsAt).toBeNull();
    tell('r1', 10, 'z');
    tell('r2', 10, 'z');
    expect(one.loses(10, 'other')).toBe(false);
  });

  it('is kept where the database goes back to a copy of its own, and forgotten with another one, or where all go on from one', () => {
    const ends = {
      own: (one: AnswerComparison) => one.forgetOwn(false),
      another: (one: AnswerComparison) => one.forgetOwn(true),
      adopted: (one: AnswerComparison) => one.settle(7),
    };
    const kept = Object.entries(ends).map(([name, end]) => {
      const { one, tell } = comparison();
      tell('r1', 7, 'a');
      tell('r2', 7, 'a');
      one.loses(7, 'c');
      end(one);
      return [name, one.standsAt, one.loses(7, 'c')];
    });
    expect(kept).toEqual([
      ['own', 7, true],
      ['another', null, false],
      ['adopted', null, false],
    ]);
  });

  it('outlives many others where somebody differed', () => {
    const record = { held: [[7, 'a']] as const, standsAt: null };
    const one = new AnswerComparison({ self: 'r1', voters: () => ['r1', 'r2'], slotsMax: 10, record });
    for (let slot = 8; slot < 100; slot += 1)
      for (const replica of ['r1', 'r2']) one.tell(replica, [{ slot, digest: 'x' }]);
    expect(one.loses(7, 'c')).toBe(true);
  });

  it('is nobody’s where a replica is alone', () => {
    const { one, tell } = comparison(['r1']);
    tell('r1', 7, 'a');
    expect(one.loses(7, 'c')).toBe(false);
  });
});

it('tells what others answered to a slot, beside an answer that was not told', () => {
  const comparison = new AnswerComparison({ self: 'r3', voters: () => ['r1', 'r2', 'r3'], slotsMax: 100 });
  expect(comparison.othersOn(7, 'x')).toBeNull();
  comparison.tell('r1', [{ slot: 7, digest: 'x' }]);
  expect(comparison.othersOn(7, 'x')).toBe('same');
  expect(comparison.othersOn(7, 'y')).toBe('otherwise');
  const alone = new AnswerComparison({ self: 'r1', voters: () => ['r1'], slotsMax: 100 });
  alone.tell('r1', [{ slot: 7, digest: 'x' }]);
  expect(alone.othersOn(7, 'y')).toBeNull();
});
