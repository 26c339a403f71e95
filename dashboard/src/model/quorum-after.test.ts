import { expect, test } from 'vitest';
import type { Member } from './members-view.ts';
import { quorumWithout, quorumWords } from './quorum-after.ts';

const member = (replica: string, role: 'voter' | 'learner') => ({ replica, role }) as unknown as Member;
const words = (roles: readonly ('voter' | 'learner')[]) =>
  quorumWords(
    quorumWithout(
      roles.map((role, index) => member(`r${index + 1}`, role)),
      'r1',
    ),
  );

test('what is left without a member is told as voters, their quorum, and how many may fail', () => {
  expect(words(['voter', 'voter', 'voter'])).toBe(
    '2 voters are left, of which 2 are a quorum: none of them may fail.',
  );
  expect(words(['voter', 'voter', 'voter', 'voter'])).toBe(
    '3 voters are left, of which 2 are a quorum: one of them may fail.',
  );
  expect(words(['voter', 'voter'])).toBe('1 voter is left, of which 1 is a quorum: none of them may fail.');
  expect(words(['learner', 'voter', 'voter', 'voter', 'voter', 'voter', 'learner'])).toContain(
    '2 of them may fail',
  );
});
