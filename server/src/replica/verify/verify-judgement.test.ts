import { expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types.ts';
import { judge, type Reported } from './verify-judgement.ts';

const table = (name: string, rows: number, digest: string) =>
  ({ kind: 'table', name, rows, digest }) as const;
const right = [table('a', 2, 'x'), table('b', 1, 'y')];
const report = (replica: string, objects: Reported['objects'], reason = '', fenced = false): Reported => ({
  replica: replica as ReplicaId,
  objects,
  reason,
  fenced,
});
const judged = (reports: readonly Reported[], voters = ['r1', 'r2', 'r3']) =>
  Object.fromEntries(
    judge(9 as Slot, reports, voters as ReplicaId[]).replicas.map(({ replica, outcome, detail }) => [
      replica,
      [outcome, ...detail],
    ]),
  );

it('the same objects in any order are equal', () => {
  expect(judged([report('r1', right), report('r2', right.toReversed()), report('r3', right)])).toEqual({
    r1: ['equal'],
    r2: ['equal'],
    r3: ['equal'],
  });
});

it('a replica differs from the majority, and in what', () => {
  const wrong = [table('a', 3, 'x'), table('c', 1, 'y')];
  expect(judged([report('r1', right), report('r2', wrong), report('r3', right)])).toEqual({
    r1: ['equal'],
    r2: ['differs', 'table a (3 rows, not 2)', 'table b is missing', 'table c is not in the others'],
    r3: ['equal'],
  });
});

it('a leader in the minority differs, too', () => {
  const wrong = [table('a', 2, 'z'), table('b', 1, 'y')];
  const replicas = judged([report('r1', wrong), report('r2', right), report('r3', right)]);
  expect(replicas['r1']).toEqual(['differs', 'table a']);
});

it('where no majority agrees, nobody is right', () => {
  const wrong = [table('a', 2, 'z'), table('b', 1, 'y')];
  const none = report('r3', null, 'away');
  expect(judged([report('r1', right), report('r2', wrong), none])).toEqual({
    r1: ['differs', 'no majority agrees', 'table a'],
    r2: ['differs', 'no majority agrees', 'table a'],
    r3: ['noReport', 'away'],
  });
});

it('learners make no majority, however many have the same', () => {
  const wrong = [table('a', 2, 'z'), table('b', 1, 'y')];
  const reports = [report('r1', right), report('r2', wrong), report('r3', wrong), report('r4', wrong)];
  expect(judged(reports, ['r1'])).toEqual({
    r1: ['equal'],
    r2: ['differs', 'table a'],
    r3: ['differs', 'table a'],
    r4: ['differs', 'table a'],
  });
  const replicas = judged(reports.slice(0, 3), ['r1', 'r2']);
  expect(replicas['r1']).toEqual(['differs', 'no majority agrees', 'table a']);
});

it('one of three alone proves nothing', () => {
  expect(judged([report('r1', right), report('r2', null, 'away'), report('r3', null, 'away')])).toMatchObject(
    {
      r1: ['noReport', 'no majority of the voters has reported'],
    },
  );
  expect(judged([report('r1', right)], ['r1'])).toEqual({ r1: ['equal'] });
});

it('a replica that is fenced differs for as long as a majority agrees', () => {
  const fenced = report('r3', null, 'at slot 8 its data differed', true);
  expect(judged([report('r1', right), report('r2', right), fenced])['r3']).toEqual([
    'differs',
    'at slot 8 its data differed',
  ]);
  expect(judged([report('r1', right), report('r2', null, 'away'), fenced])['r3']).toEqual([
    'noReport',
    'at slot 8 its data differed',
  ]);
});
