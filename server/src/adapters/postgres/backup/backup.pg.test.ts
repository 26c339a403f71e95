import { execFileSync } from 'node:child_process';
import { copyFile, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  formatLsn,
  type Lsn,
  parseLsn,
  segmentBytes,
  segmentName,
  segmentStart,
  type Timeline,
} from '../../../wal/lsn.ts';
import { timelineFile } from '../../../wal/timeline-file.ts';
import type { WalPosition } from '../../../wal/position.ts';
import { openWalArchive } from '../archive/wal-archive.ts';
import type { DurablePosition } from '../copy/chosen.ts';
import { copyTo, sourceOf } from '../copy/testing/copying.ts';
import { PlainPostgres, testBinaries } from '../copy/testing/plain-postgres.ts';
import { readWalFile } from '../wal-directory.ts';
import { type BackupHeader, writeBackup } from './backup-file.ts';
import { type BackupSource, type BaseBackupOptions, createBackupSource } from './base-backup.ts';
import { restoreCommand } from './recovery.ts';
import { testRestore } from './restore-test.ts';
import { restoreBackup, type RestoredDatabase, type RestoreOptions } from './restore-backup.ts';

let root: string;
let primary: PlainPostgres;
let standby: PlainPostgres;
let archive: Awaited<ReturnType<typeof openWalArchive>>;
let archiveDirectory: string;
let system: bigint;
let restores = 0;
/** As the log would tell it. */
let known: WalPosition;
const labels = { group: 'main', cluster: 'c1', postgresVersion: '18.4' };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-backup-'));
  const binaries = await testBinaries();
  primary = new PlainPostgres(join(root, 'primary'), binaries);
  standby = new PlainPostgres(join(root, 'standby'), binaries);
  await primary.create(join(root, 'template'));
  await primary.start(null, { track_commit_timestamp: 'on' });
  await primary.query('CREATE TABLE t (id int PRIMARY KEY, text text)');
  await primary.query("INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 20000) i");
  await copyTo(standby, await sourceOf(primary));
  await standby.start(primary);
  archiveDirectory = join(root, "an archive of 100% of 'chosen' WAL");
  known = await primary.position();
  ({ system } = known);
  archive = await openWalArchive({
    directory: archiveDirectory,
    bytesMax: 10 ** 9,
    system,
    history: (timeline) => timelineFile(known, timeline),
    missing: (from, to, timeline) => readWalFile(primary.dataDir, from, timeline, to - from),
  });
});
afterAll(async () => {
  await archive?.close();
  for (const postgres of [primary, standby]) await postgres?.stop('immediate');
  await rm(root, { recursive: true, force: true });
});

/** All that the primary has written goes into the archive, in ranges as they are chosen. */
async function archiveAll(of = primary, start?: Lsn): Promise<Lsn> {
  known = await of.position();
  const { end, timeline } = known;
  let from = start ?? archive.status().end ?? ((end - 1000) as Lsn);
  while (from < end) {
    const data = await readWalFile(of.dataDir, from, timeline, Math.min(100_000, end - from));
    await archive.append({ timeline, start: from, data });
    from = (from + data.length) as Lsn;
  }
  await archive.flush();
  return end;
}

async function backupSource(
  of: PlainPostgres,
  changes: Partial<BaseBackupOptions> = {},
): Promise<BackupSource> {
  let durable: DurablePosition = { position: await of.position(), configuration: null };
  return createBackupSource({
    socketPath: join(of.socketDir, '.s.PGSQL.5432'),
    version: (await testBinaries()).version,
    dataDir: of.dataDir,
    position: () => durable,
    async awaitChosen(lsn) {
      while (durable.position.end < lsn) durable = { position: await of.position(), configuration: null };
      return true;
    },
    bytesPerSecondMax: () => null,
    ...changes,
  });
}

async function backupOf(
  of: PlainPostgres,
  name: string,
): Promise<{ out: string; header: BackupHeader; bytes: number }> {
  const out = join(root, name);
  return { out, ...(await writeBackup({ source: await backupSource(of), out, header: labels })) };
}

async function restore(
  file: string,
  changes: Partial<RestoreOptions> = {},
): Promise<RestoredDatabase & { directory: string }> {
  const directory = join(root, `restored-${(restores += 1)}`);
  const binaries = await testBinaries();
  const restored = await restoreBackup({
    file,
    directory,
    binaries,
    archive: null,
    target: { kind: 'end' },
    ...changes,
  });
  return { ...restored, directory };
}

/** What the restored database answers. */
async function ask(directory: string, ...questions: readonly string[]): Promise<string[]> {
  const postgres = new PlainPostgres(directory, await testBinaries());
  await postgres.start();
  try {
    const answers: string[] = [];
    for (const question of questions) answers.push(await postgres.value(question));
    return answers;
  } finally {
    await postgres.stop('fast');
  }
}

const refusal = (message: RegExp) => ({
  code: 'copyInvalid',
  message: expect.stringMatching(message) as string,
});

describe('a backup', () => {
  it.each(['primary', 'standby'] as const)(
    'of a %s under load, restored, has what was committed before it began, and only chosen WAL',
    async (which) => {
      const of = which === 'primary' ? primary : standby;
      const load = { stopped: false, committed: 0 };
      const loading = (async () => {
        const client = await primary.client();
        await client.query('CREATE TABLE IF NOT EXISTS counted (n int)');
        while (!load.stopped) {
          await client.query(`INSERT INTO counted VALUES (${load.committed + 1})`);
          load.committed += 1;
        }
      })();
      await expect.poll(() => load.committed).toBeGreaterThan(20);
      await standby.caughtUp(primary);
      const before = load.committed;
      const { out, header, bytes } = await backupOf(of, `of-${which}`);
      load.stopped = true;
      await loading;
      expect((await stat(out)).size).toBe(bytes);
      const restored = await restore(out);
      expect(restored.header).toEqual(header);
      const { position } = restored.backup;
      expect(position.end).toBeGreaterThanOrEqual(header.position.end);
      expect(restored.end).toBeLessThanOrEqual(position.end + 8);
      expect(restored.timeline).toBe(position.timeline + 1);
      const [count, most] = await ask(
        restored.directory,
        'SELECT count(*) FROM counted',
        'SELECT max(n) FROM counted',
      );
      expect(Number(count)).toBeGreaterThanOrEqual(before);
      expect(most).toBe(count);
      await primary.query('DROP TABLE counted');
    },
  );

  it('of a primary whose WAL is never chosen leaves no file', async () => {
    const source = await backupSource(primary, { awaitChosen: () => Promise.resolve(false) });
    const out = join(root, 'never');
    await expect(writeBackup({ source, out, header: labels })).rejects.toMatchObject({
      code: 'transferFailed',
    });
    expect((await readdir(root)).filter((name) => name.startsWith('never'))).toEqual([]);
  });

  it('is made two at a time, and ends when its reader goes', async () => {
    const source = await backupSource(standby, { bytesPerSecondMax: () => 2_000_000 });
    const [first, second] = await Promise.all([source.open(), source.open()]);
    await expect(source.open()).rejects.toMatchObject({ code: 'sourceBusy' });
    first.stream.destroy();
    second.stream.destroy();
    const left = 'SELECT count(*) FROM pg_replication_slots';
    await expect.poll(() => standby.value(left)).toBe('0');
    (await source.open()).stream.destroy();
    const away = await backupSource(standby, { socketPath: join(root, 'nowhere') });
    await expect(away.open()).rejects.toMatchObject({ name: 'CopyError', code: 'sourceUnavailable' });
  });
});

it('a backup of a database with a damaged page is refused', async () => {
  const damaged = new PlainPostgres(join(root, 'damaged'), await testBinaries());
  // What changed after the last checkpoint would be repaired by replay, and is not looked at.
  await primary.query('CHECKPOINT');
  await standby.caughtUp(primary);
  await copyTo(damaged, await sourceOf(standby));
  await damaged.start(primary);
  const path = join(damaged.dataDir, await damaged.value("SELECT pg_relation_filepath('t')"));
  const bytes = await readFile(path);
  bytes.fill(7, 8192 + 4000, 8192 + 4100);
  await writeFile(path, bytes);
  const out = join(root, 'of-damaged');
  const source = await backupSource(damaged);
  await expect(writeBackup({ source, out, header: labels })).rejects.toMatchObject({ code: 'sourceDamaged' });
  await damaged.stop('immediate');
});

describe('a point in time', () => {
  let file: string;
  let backupEnd: Lsn;
  const times: Date[] = [];
  const positions: Lsn[] = [];
  let archiveEnd: Lsn;

  beforeAll(async () => {
    await primary.query('CREATE TABLE steps (n int)');
    await primary.query("BEGIN; INSERT INTO steps VALUES (0); PREPARE TRANSACTION 'kept'");
    await archiveAll();
    const taken = await backupOf(standby, 'for-times');
    file = taken.out;
    backupEnd = taken.header.position.end;
    for (let n = 1; n <= 5; n += 1) {
      await primary.query(`INSERT INTO steps VALUES (${n})`);
      await primary.query(
        `INSERT INTO t SELECT i, repeat('y', 500) FROM generate_series(${n}00000, ${n}20000) i`,
      );
      await sleep(60);
      times.push(
        new Date(
          await primary.value(
            'SELECT to_char(now() AT TIME ZONE \'UTC\', \'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"\')',
          ),
        ),
      );
      positions.push(parseLsn(await primary.value('SELECT pg_current_wal_insert_lsn()')));
      await sleep(60);
      await archiveAll();
    }
    await primary.query("SELECT pg_create_restore_point('before it''s too late')");
    await primary.query('INSERT INTO steps VALUES (6)');
    archiveEnd = await archiveAll();
    await archive.flush();
  });

  const sum = "SELECT string_agg(n::text, ',' ORDER BY n) FROM steps";
  const prepared = 'SELECT count(*) FROM pg_prepared_xacts';

  it('is what was committed up to it', async () => {
    const restored = await restore(file, {
      archive: archiveDirectory,
      target: { kind: 'time', at: times[2]! },
    });
    expect(restored.lastCommit?.getTime()).toBeLessThanOrEqual(times[2]!.getTime());
    expect(await ask(restored.directory, sum, prepared)).toEqual(['1,2,3', '1']);
  });

  it('as a position is what was committed below it', async () => {
    const restored = await restore(file, {
      archive: archiveDirectory,
      target: { kind: 'position', at: positions[1]! },
    });
    expect(restored.end).toBeLessThanOrEqual(positions[1]!);
    expect(await ask(restored.directory, sum)).toEqual(['1,2']);
  });

  it('at the end of the archive is everything, whether the end is named or not', async () => {
    const all = await restore(file, { archive: archiveDirectory });
    expect(await ask(all.directory, sum)).toEqual(['1,2,3,4,5,6']);
    const named = await restore(file, {
      archive: archiveDirectory,
      target: { kind: 'position', at: archiveEnd },
    });
    expect(await ask(named.directory, sum)).toEqual(['1,2,3,4,5,6']);
    const alone = await restore(file);
    expect(await ask(alone.directory, 'SELECT count(*) FROM steps')).toEqual(['0']);
  });

  it('as a label is all up to where it was set', async () => {
    const restored = await restore(file, {
      archive: archiveDirectory,
      target: { kind: 'label', name: "before it's too late" },
    });
    expect(await ask(restored.directory, sum)).toEqual(['1,2,3,4,5']);
    await expect(
      restore(file, { archive: archiveDirectory, target: { kind: 'label', name: 'never' } }),
    ).rejects.toMatchObject({ ...refusal(/"never" is not in the WAL behind the backup/), side: 'beyond' });
  });

  it('is not rounded: a transaction of the same millisecond is in, or not, by its microseconds', async () => {
    const micros = await primary.value(
      'SELECT (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::bigint FROM steps WHERE n = 3',
    );
    const at = (bias: number): RestoreOptions['target'] => {
      const time = Number(micros) + bias;
      return { kind: 'time', at: new Date(Math.floor(time / 1000)), microseconds: time % 1000 };
    };
    const before = await restore(file, { archive: archiveDirectory, target: at(-1) });
    expect(await ask(before.directory, sum)).toEqual(['1,2']);
    const there = await restore(file, { archive: archiveDirectory, target: at(0) });
    expect(await ask(there.directory, sum)).toEqual(['1,2,3']);
  });

  it('is tested: a backup is restored to the end of the archive, looked through, and nothing is left', async () => {
    const before = await readdir(root);
    const steps: string[] = [];
    const report = await testRestore({
      file,
      directory: join(root, 'tested'),
      binaries: await testBinaries(),
      archive: archiveDirectory,
      onStep: (step) => steps.push(step),
    });
    expect(steps).toEqual(['unpacking', 'replaying', 'pages', 'relations']);
    expect(report).toMatchObject({ amcheck: true, complaints: [] });
    expect(parseLsn(report.end)).toBeGreaterThanOrEqual(archiveEnd - 100);
    expect(report.pages).toBeGreaterThan(1000);
    const cut = join(root, 'cut');
    await cp(archiveDirectory, cut, { recursive: true });
    await rm(join(cut, segmentName(1 as Timeline, (segmentStart(backupEnd) + segmentBytes) as Lsn)));
    await expect(
      testRestore({ file, directory: join(root, 'tested'), binaries: await testBinaries(), archive: cut }),
    ).rejects.toMatchObject(refusal(/has a gap/));
    await rm(cut, { recursive: true });
    expect(await readdir(root)).toEqual(before);
  });

  it('that cannot be had is refused with the reason, and leaves nothing', async () => {
    const before = await readdir(root);
    const at = (target: RestoreOptions['target']): Promise<unknown> =>
      restore(file, { archive: archiveDirectory, target });
    await expect(at({ kind: 'time', at: new Date(0) })).rejects.toMatchObject({
      ...refusal(/1970.* lies before the end of the backup/),
      side: 'before',
    });
    const later = new Date(Date.now() + 3_600_000);
    await expect(at({ kind: 'time', at: later })).rejects.toMatchObject(
      refusal(/lies beyond the end of the WAL: the last transaction in it was committed at 20/),
    );
    await expect(at({ kind: 'position', at: (backupEnd - 200_000) as Lsn })).rejects.toMatchObject(
      refusal(/lies before the end of the backup/),
    );
    await expect(at({ kind: 'position', at: (archiveEnd + 1_000_000) as Lsn })).rejects.toMatchObject(
      refusal(/cannot be reached: .* ends at/),
    );
    await expect(restore(file, { target: { kind: 'time', at: times[0]! } })).rejects.toMatchObject(
      refusal(/name the archive/),
    );
    await expect(restore(file, { archive: root })).rejects.toMatchObject(refusal(/holds no archive/));
    expect(await readdir(root)).toEqual(before);
    await expect(
      restoreBackup({
        file,
        directory: primary.directory,
        binaries: await testBinaries(),
        archive: null,
        target: { kind: 'end' },
      }),
    ).rejects.toThrow(/there already/);
  });

  it('beyond a gap of the archive, or a damaged place, is refused, and what lies before can be had', async () => {
    const broken = join(root, 'broken');
    await cp(archiveDirectory, broken, { recursive: true });
    const middle = (segmentStart(backupEnd) + segmentBytes) as Lsn;
    expect(middle + segmentBytes).toBeLessThan(archiveEnd);
    const name = segmentName(1 as Timeline, middle);
    await rm(join(broken, name));
    await expect(restore(file, { archive: broken })).rejects.toMatchObject(
      refusal(new RegExp(`gap from ${formatLsn(middle)}.*name ${formatLsn(middle)} as the position`)),
    );
    const until = await restore(file, { archive: broken, target: { kind: 'position', at: middle } });
    const [steps] = await ask(until.directory, sum);
    expect('1,2,3,4,5,6'.startsWith(steps!)).toBe(true);
    expect(steps).not.toBe('1,2,3,4,5,6');

    const bytes = await readFile(join(archiveDirectory, name));
    bytes.fill(0xff, segmentBytes / 2, segmentBytes / 2 + 100);
    await writeFile(join(broken, name), bytes);
    await expect(restore(file, { archive: broken })).rejects.toMatchObject(refusal(/stopped at .*damaged/));
    // As does a time behind it, which is not said to be in the future.
    await expect(
      restore(file, { archive: broken, target: { kind: 'time', at: new Date() } }),
    ).rejects.toMatchObject(refusal(/^20\S+ was not reached: .*damaged/));

    // A copy that lacks the newest file: archive.json knows of it.
    const cut = join(root, 'cut');
    await cp(archiveDirectory, cut, { recursive: true });
    const newest = (await readdir(cut)).find((each) => each.endsWith('.partial'))!;
    await rm(join(cut, newest));
    const whole = segmentStart(archiveEnd);
    await expect(restore(file, { archive: cut })).rejects.toMatchObject(
      refusal(new RegExp(`newest files are missing.*name ${formatLsn(whole)} as the position`)),
    );
    await restore(file, { archive: cut, target: { kind: 'position', at: whole } });
    // Whoever opened a pipe would wait for ever.
    execFileSync('mkfifo', [join(cut, newest)]);
    await expect(restore(file, { archive: cut })).rejects.toMatchObject(refusal(/partial is not a file/));
    await rm(join(cut, newest));
    execFileSync('mkfifo', [join(cut, '00000009.history')]);
    const atWhole = { kind: 'position', at: whole } as const;
    await expect(restore(file, { archive: cut, target: atWhole })).rejects.toMatchObject(
      refusal(/00000009.history is not a file/),
    );

    const other = join(root, 'of-another');
    await cp(archiveDirectory, other, { recursive: true });
    const state = await readFile(join(other, 'archive.json'), 'utf8');
    await writeFile(join(other, 'archive.json'), state.replace(String(system), '12345'));
    await expect(restore(file, { archive: other })).rejects.toMatchObject(refusal(/another database/));
  });

  it('is given up when it is told to be, with no process left', async () => {
    const control = new AbortController();
    const onStep = (step: string): void => {
      if (step === 'replaying') setTimeout(() => control.abort(new Error('enough')), 50);
    };
    await expect(
      restore(file, { archive: archiveDirectory, onStep, signal: control.signal }),
    ).rejects.toThrow('enough');
    expect((await readdir(root)).filter((name) => name.endsWith('.restoring'))).toEqual([]);
  });
});

it('a backup of one timeline is replayed through the next one, to its end and to a time on it', async () => {
  await archiveAll();
  await standby.caughtUp(primary);
  const { out } = await backupOf(standby, 'of-timeline-1');
  await primary.query('CREATE TABLE led (n int)');
  await primary.query('INSERT INTO led VALUES (1)');
  await standby.caughtUp(primary);
  await standby.cutOff();
  // Archived, and nobody's in the end.
  await primary.query('INSERT INTO led VALUES (666)');
  await archiveAll();
  await standby.promote();
  await standby.query('INSERT INTO led VALUES (2)');
  await archiveAll(standby, await standby.forkedAt());
  const first = new Date();
  await sleep(60);
  await standby.query('INSERT INTO led VALUES (3)');
  await archiveAll(standby);
  const sum = "SELECT string_agg(n::text, ',' ORDER BY n) FROM led";
  const all = await restore(out, { archive: archiveDirectory });
  expect(all.timeline).toBe(3);
  expect(await ask(all.directory, sum)).toEqual(['1,2,3']);
  const some = await restore(out, { archive: archiveDirectory, target: { kind: 'time', at: first } });
  expect(await ask(some.directory, sum)).toEqual(['1,2']);
});

it('a command to restore a file tells a file that is not there from one that cannot be read', async () => {
  const { execFile } = await import('node:child_process');
  const { promisify } = await import('node:util');
  const run = promisify(execFile);
  const target = join(root, 'a segment');
  const statusOf = (command: string): Promise<number> =>
    run('sh', [
      '-c',
      command.replaceAll('%f', '000000010000000000000001').replaceAll('%p', target).replaceAll('%%', '%'),
    ]).then(
      () => 0,
      (error: { code?: number }) => error.code ?? -1,
    );
  const directory = join(root, "it's 100%");
  await cp(archiveDirectory, directory, { recursive: true });
  expect(await statusOf(restoreCommand(directory))).toBe(1);
  await copyFile(join(root, 'for-times'), join(directory, '000000010000000000000001.partial'));
  expect(await statusOf(restoreCommand(directory))).toBe(0);
  expect((await stat(target)).size).toBe((await stat(join(root, 'for-times'))).size);
  expect(await statusOf(restoreCommand(directory).replaceAll('%p', join(root, 'nowhere', 'x')))).toBe(255);
});
