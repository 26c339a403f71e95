import { expect, test } from 'vitest';
import type { RestoreTestReport } from '../../adapters/postgres/backup/restore-test.ts';
import { tellRestoreTest } from './backups-command.ts';

const report = {
  takenAt: '2026-01-01T00:00:00Z',
  end: '0/3000000',
  lastCommit: null,
  pages: 900,
  amcheck: true,
  complaints: [],
  doubts: [],
  unchecked: [],
};

function told(found: Partial<RestoreTestReport>): readonly string[] {
  const lines: string[] = [];
  tellRestoreTest('monday.barista', { ...report, ...found }, (line) => lines.push(line));
  return lines;
}

test('a restore test says of all databases that tables and indexes agree', () => {
  expect(told({})).toEqual([
    'monday.barista, taken at 2026-01-01T00:00:00Z, can be restored: replayed to 0/3000000; 900 pages are whole, tables and indexes agree, as far as PostgreSQL can tell.',
  ]);
});

test('a restore test names invalid databases, and does not say that they were checked', () => {
  const [first, second] = told({ unchecked: ['half_gone'] });
  expect(first).toContain('tables and indexes of the other databases agree');
  expect(second).toMatch(/^These databases were not checked, but for their pages\. .*\n {2}half_gone$/);
});
