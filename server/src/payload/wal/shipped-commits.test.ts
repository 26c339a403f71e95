import { expect, it } from 'vitest';
import type { Lsn } from '../../wal/lsn.ts';
import { ShippedCommits } from './shipped-commits.ts';

it('names the transactions of the ranges that end up to there, each once', () => {
  const commits = new ShippedCommits();
  commits.add(100 as Lsn, ['7']);
  commits.add(200 as Lsn, []);
  commits.add(300 as Lsn, ['9', '8']);
  expect(commits.takeUpTo(99 as Lsn)).toEqual([]);
  expect(commits.takeUpTo(200 as Lsn)).toEqual(['7']);
  expect(commits.takeUpTo(300 as Lsn)).toEqual(['9', '8']);
  expect(commits.takeUpTo(400 as Lsn)).toEqual([]);
});
