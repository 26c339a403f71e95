import { beforeEach, describe, expect, it } from 'vitest';
import { Attempt } from './attempt.ts';
import { digestOf, unknownDigest } from './request-digest.ts';

const acting = { acts: true, mayBeSet: true };
const idle = { acts: false, mayBeSet: true };
let reported: Map<string, string>;
let attempt: Attempt;

beforeEach(() => {
  reported = new Map();
  attempt = new Attempt(reported);
});

/** A block of the client's own. */
function block(what: string, end: 'rolledBack' | 'committed', name = acting): void {
  attempt.begins('I', name);
  attempt.begins('T', name);
  attempt.add(what);
  if (end === 'committed') attempt.committed();
  attempt.begins('I', name);
}

it('records no digest where nothing has failed', () => {
  attempt.add('it');
  expect(attempt.recordOf('COMMIT')).toBe('COMMIT');
  block('it', 'committed');
  expect(attempt.recordOf('COMMIT')).toBe('COMMIT');
});

it.each([
  ['a block that is rolled back', () => block('first', 'rolledBack'), true],
  ['a block that has not acted', () => block('first', 'rolledBack', idle), false],
  ['one that has no name', () => block('first', 'rolledBack', { acts: true, mayBeSet: false }), false],
  ['a ROLLBACK', () => attempt.passes('rollback', 'T', acting), true],
  ['a COMMIT that rolls back', () => attempt.passes('commit', 'E', acting), true],
  ['a COMMIT', () => attempt.passes('commit', 'T', acting), false],
])('counts as a failure what did not take effect: %s', (_, happens, counts) => {
  happens();
  attempt.begins('I', acting);
  attempt.add('second');
  expect(attempt.recordOf('COMMIT')).toBe(counts ? `COMMIT\n${digestOf('second')}` : 'COMMIT');
});

describe('behind a failure', () => {
  beforeEach(() => block('first', 'rolledBack'));

  it('digests the same of the same, in the same order', () => {
    attempt.add('a');
    attempt.add('b');
    const { digest } = attempt;
    attempt.begins('I', acting);
    attempt.add('b');
    attempt.add('a');
    expect(attempt.digest).not.toBe(digest);
    block('c', 'rolledBack');
    attempt.add('a');
    attempt.add('b');
    expect(attempt.digest).toBe(digest);
  });

  it('is not known what something has passed of unseen, nor of a block that is chained', () => {
    attempt.blur();
    expect(attempt.recordOf('COMMIT')).toBe(`COMMIT\n${unknownDigest}`);
    attempt.begins('I', acting);
    expect(attempt.digest).not.toBe(unknownDigest);
    attempt.passes('rollbackChain', 'T', acting);
    expect(attempt.digest).toBe(unknownDigest);
  });

  it('is not known what a text means once something that alters that has been committed', () => {
    attempt.altered();
    expect(attempt.digest).not.toBe(unknownDigest);
    attempt.begins('I', acting);
    expect(attempt.digest).toBe(unknownDigest);
    block('again', 'rolledBack');
    expect(attempt.digest).toBe(unknownDigest);
    attempt.cleared();
    attempt.begins('I', acting);
    expect(attempt.recordOf('COMMIT')).toBe('COMMIT');
    expect(attempt.digest).not.toBe(unknownDigest);
  });

  it('stays known where that is rolled back', () => {
    attempt.begins('T', acting);
    attempt.altered();
    attempt.begins('I', acting);
    expect(attempt.digest).not.toBe(unknownDigest);
  });

  it('is not known once PostgreSQL has reported another setting', () => {
    reported.set('application_name', 'x');
    attempt.begins('I', acting);
    expect(attempt.digest).not.toBe(unknownDigest);
    reported.set('search_path', 'a');
    attempt.begins('I', acting);
    expect(attempt.digest).toBe(unknownDigest);
  });
});

it('takes a setting that was reported before the failure for the one that is in force', () => {
  reported.set('search_path', 'a');
  attempt.altered();
  block('first', 'rolledBack');
  expect(attempt.digest).not.toBe(unknownDigest);
});
