import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeBackup } from '../../adapters/postgres/backup/backup-file.ts';
import { inPieces, sealed, smallPosition } from '../../adapters/postgres/backup/testing/small-backup.ts';
import type { RestoreTestReport } from '../../adapters/postgres/backup/restore-test.ts';
import { CliError } from '../../main/errors.ts';
import { runListBackups, runVerifyBackup, tellRestoreTest } from './backups-command.ts';
import { createProgressLine } from './progress-line.ts';

let root = '';
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-backups-command-'));
  for (const name of ['whole', 'cut']) {
    const bytes = await sealed();
    await writeBackup({
      source: {
        open: () =>
          Promise.resolve({
            bytesTotal: 1,
            begun: smallPosition,
            stream: Readable.from(inPieces(bytes, 5000)),
          }),
      },
      out: join(root, `main.20260504T103000Z.${name}.barista`),
      header: { group: 'main', cluster: 'c1', postgresVersion: '18.4' },
    });
  }
  truncateSync(join(root, 'main.20260504T103000Z.cut.barista'), 1000);
});
afterAll(() => rmSync(root, { recursive: true }));

async function listed(json: boolean, directory: string | null = root, config: string | null = null) {
  const lines: string[] = [];
  await runListBackups(directory, config, json, (line) => lines.push(line));
  return lines.join('\n');
}

const nothing = { archive: null, pgBin: null, workDirectory: null, configFile: null };
async function failure(file: string, changes: { readonly pgBin?: string } = {}) {
  const progress = createProgressLine({ what: '', write: () => {}, terminal: false, nowMs: () => 0 });
  try {
    const context = { say: () => {}, progress, signal: new AbortController().signal };
    await runVerifyBackup({ ...nothing, file, ...changes }, context);
  } catch (error) {
    if (error instanceof CliError) return [error.exitCode, error.message];
    throw error;
  }
  return [0, ''];
}

describe('backups in a directory', () => {
  it('are listed with where they are in the history, and what is not whole is told', async () => {
    expect(await listed(false)).toMatch(
      /^20\S+Z +\S+ MB  main, slot 41  \S+whole\.barista\n\S+cut\.barista is incomplete and cannot be restored\.$/,
    );
    expect(JSON.parse(await listed(true))).toMatchObject([
      { group: 'main', cluster: 'c1', slot: 41, position: '0/3000060', postgresVersion: '18.4' },
    ]);
    await expect(listed(false, join(root, 'nowhere'))).rejects.toThrow(/ENOENT/);
  });

  it('that cannot be restored end the test with 1, and what says nothing of them with 4', async () => {
    // Left by tests that a power loss ended; one of them may still go on.
    const [old, recent] = ['restore-test-0a.restoring', 'restore-test-0b'].map((name) => join(root, name));
    for (const left of [old!, recent!]) mkdirSync(left);
    utimesSync(old!, 1, 1);
    const whole = join(root, 'main.20260504T103000Z.whole.barista');
    const cut = join(root, 'main.20260504T103000Z.cut.barista');
    expect(await failure(cut)).toEqual([1, expect.stringMatching(/^It cannot be restored: .*cut off/)]);
    expect(await failure(whole, { pgBin: join(root, 'no-programs') })).toEqual([
      4,
      expect.stringMatching(/^It could not be tested: .*missing or cannot be executed/),
    ]);
    expect((await failure(join(root, 'nowhere')))[0]).toBe(1);
    expect(readdirSync(root).filter((name) => name.startsWith('restore-test'))).toEqual(['restore-test-0b']);
  });
});

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

it('a restore test says of all databases that tables and indexes agree', () => {
  expect(told({})).toEqual([
    'monday.barista, taken at 2026-01-01T00:00:00Z, can be restored: replayed to 0/3000000; 900 pages are whole, tables and indexes agree, as far as PostgreSQL can tell.',
  ]);
});

it('a restore test names invalid databases, and does not say that they were checked', () => {
  const [first, second] = told({ unchecked: ['half_gone'] });
  expect(first).toContain('tables and indexes of the other databases agree');
  expect(second).toMatch(/^These databases were not checked, but for their pages\. .*\n {2}half_gone$/);
});
