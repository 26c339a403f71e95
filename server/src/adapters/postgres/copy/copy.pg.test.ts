import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type Lsn,
  parseLsn,
  segmentBytes,
  segmentName,
  segmentStart,
  type Timeline,
  walPageBytes,
} from '../../../wal/lsn.ts';
import type { CopyProgress } from '../../../ports/copy.ts';
import { seededRandom } from '../../ws-transport/link-faults.ts';
import { readDirectoryState } from '../directory-state.ts';
import { inspectDataDirectory } from '../inspect-data-directory.ts';
import { readBasis } from './copy-basis.ts';
import type { DurablePosition } from './chosen.ts';
import { differences, installAmcheck } from './testing/compare-databases.ts';
import { pageBytes, pageLsn } from './page.ts';
import { copyTo, sourceOf, testInstallation } from './testing/copying.ts';
import { PlainPostgres, testBinaries, testOwner } from './testing/plain-postgres.ts';
import { startLoad } from './testing/random-load.ts';

let root: string;
let primary: PlainPostgres;
let standby: PlainPostgres;
/** Where copies go; not running when a test begins. */
let target: PlainPostgres;
let targets = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-copy-'));
  const binaries = await testBinaries();
  primary = new PlainPostgres(join(root, 'primary'), binaries);
  standby = new PlainPostgres(join(root, 'standby'), binaries);
  await primary.create(join(root, 'template'));
  await primary.start();
  for (const database of ['template1', 'postgres']) await primary.query(installAmcheck, database);
  await primary.query('CREATE TABLE t (id int PRIMARY KEY, n int, text text)');
  await primary.query("INSERT INTO t SELECT i, 0, repeat('x', 100) FROM generate_series(1, 200000) i");
  await copyTo(standby, await sourceOf(primary));
  await standby.start(primary);
});
beforeEach(async () => {
  await target?.stop('immediate');
  targets += 1;
  target = new PlainPostgres(join(root, `target${targets}`), await testBinaries());
});
afterAll(async () => {
  for (const postgres of [primary, standby, target]) await postgres?.stop('immediate');
  await rm(root, { recursive: true, force: true });
});

async function roleOf(postgres: PlainPostgres): Promise<string | undefined> {
  return (await readDirectoryState(postgres.directory))?.role.kind;
}

/** So much of the directory's data is there that a PostgreSQL might be started on it by mistake. */
async function expectHalfACopy(postgres: PlainPostgres): Promise<void> {
  expect(await roleOf(postgres)).toBe('copying');
  expect(await inspectDataDirectory(postgres.directory)).toMatchObject({
    lost: expect.any(String) as string,
  });
}

/** For a copy that is slow: resolves when something of it has come. */
function beginning(): {
  readonly onProgress: (progress: CopyProgress) => void;
  readonly received: Promise<void>;
} {
  let told = (): void => undefined;
  const received = new Promise<void>((resolve) => (told = resolve));
  return { received, onProgress: ({ bytesReceived }) => void (bytesReceived > 1_000_000 && told()) };
}

/** Of all pages of relations in a directory. */
async function highestPosition(directory: string): Promise<number> {
  let highest = 0;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/^\d+(\.\d+)?$/.test(entry.name)) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    for (let at = 0; at < bytes.length; at += pageBytes) highest = Math.max(highest, pageLsn(bytes, at));
  }
  return highest;
}

describe('a copy', () => {
  it.each(['primary', 'standby'] as const)('of a %s into an empty directory is a standby', async (which) => {
    const source = which === 'primary' ? primary : standby;
    const progress: CopyProgress[] = [];
    const copied = await copyTo(target, await sourceOf(source), { onProgress: (p) => progress.push(p) });
    // Everything was sent, once; of the WAL, only what is needed.
    expect(copied.blocksReceived * 8192).toBeGreaterThan(40_000_000);
    expect(copied.bytesReceived).toBeLessThan(1.05 * copied.bytesTotal + 1_000_000);
    const compared = progress.map(({ bytesCompared }) => bytesCompared);
    expect(compared).toEqual(compared.toSorted((a, b) => a - b));
    expect(progress.at(-1)?.bytesReceived).toBeGreaterThan(40_000_000);
    const state = await readDirectoryState(target.directory);
    expect(state).toEqual({ role: { kind: 'standby' }, position: copied.position, configuration: null });
    expect(await readdir(target.directory)).not.toContain('copy.json');
    await target.start(primary);
    await target.caughtUp(primary);
    expect(await target.value('SELECT count(*) FROM t')).toBe('200000');
  });

  it('of a directory that is equal already sends next to nothing', async () => {
    await copyTo(target, await sourceOf(standby));
    const again = await copyTo(target, await sourceOf(standby));
    expect(again.blocksReceived).toBeLessThan(50);
    expect(again.bytesTotal).toBeGreaterThan(40_000_000);
  });

  it('of a standby that never received the empty rest of a segment has zeros there', async () => {
    await primary.query('CHECKPOINT');
    await standby.caughtUp(primary);
    await standby.query('CHECKPOINT');
    await primary.query('CREATE TABLE before_switch AS SELECT 1 AS i');
    const end = parseLsn(await primary.value('SELECT pg_switch_wal()'));
    await primary.query('CREATE TABLE after_switch AS SELECT 1 AS i');
    await standby.caughtUp(primary);
    const name = join('pg_wal', segmentName(1 as Timeline, segmentStart(end)));
    const restAt = Math.ceil((end % segmentBytes) / walPageBytes) * walPageBytes;
    const file = await open(join(standby.dataDir, name), 'r+');
    // As in a file that was used before.
    await file.write(Buffer.alloc(segmentBytes - restAt, 5), 0, segmentBytes - restAt, restAt);
    await file.close();
    await copyTo(target, await sourceOf(standby));
    const copied = await readFile(join(target.dataDir, name));
    expect(copied.subarray(restAt).every((byte) => byte === 0)).toBe(true);
    await target.start(primary);
    await target.caughtUp(primary);
    expect(await target.value('SELECT count(*) FROM before_switch, after_switch')).toBe('1');
  });

  it('of a member that was away holds what the source holds now', async () => {
    await copyTo(target, await sourceOf(standby));
    await target.start(primary);
    await target.caughtUp(primary);
    await target.stop('immediate');
    await primary.query(
      'UPDATE t SET n = n + 1 WHERE id % 1000 = 0; DELETE FROM t WHERE id BETWEEN 500 AND 600',
    );
    await primary.query('CREATE TABLE made_meanwhile AS SELECT generate_series(1, 1000) i');
    await primary.query('CREATE DATABASE d_meanwhile');
    await standby.caughtUp(primary);
    const copied = await copyTo(target, await sourceOf(standby));
    expect(copied.blocksReceived).toBeGreaterThan(100);
    expect(copied.blocksReceived * 8192).toBeLessThan(0.5 * copied.bytesTotal);
    await target.start(primary);
    await target.caughtUp(primary);
    expect(await target.value('SELECT sum(i) FROM made_meanwhile')).toBe('500500');
    expect(await target.value('SELECT count(*) FROM t WHERE id BETWEEN 500 AND 600')).toBe('0');
    await primary.query('DROP DATABASE d_meanwhile');
  });

  it.each(['primary', 'standby'] as const)(
    'of a %s that is written to all the while is the same database',
    async (which) => {
      const source = which === 'primary' ? primary : standby;
      const random = seededRandom(7);
      const load = startLoad(primary, 4, random);
      await sleep(500);
      try {
        await copyTo(target, await sourceOf(source, { bytesPerSecondMax: () => 30_000_000 }));
      } finally {
        await load.stop();
      }
      for (const { gid } of await primary.query<{ gid: string }>(
        'SELECT gid FROM pg_prepared_xacts WHERE database = current_database()',
      )) {
        await primary.query(`ROLLBACK PREPARED '${gid}'`);
      }
      await target.start(primary);
      const problems = await differences(primary, target);
      await primary.start();
      expect(problems).toEqual([]);
    },
  );
});

describe('what is not chosen', () => {
  it('does not leave a primary: the copy ends at the position that it has made durable', async () => {
    let durable: DurablePosition = { position: await primary.position(), configuration: null };
    const source = await sourceOf(primary, {
      position: () => durable,
      async awaitChosen(lsn: Lsn) {
        durable = { position: await primary.positionAt(lsn), configuration: null };
        // More is written, and flushed, in the same segment.
        await primary.query('CREATE TABLE beyond AS SELECT generate_series(1, 5000) i');
        return true;
      },
    });
    // Else the rest of a segment is left to zeros by the end of a backup.
    await primary.query('SELECT pg_switch_wal()');
    const copied = await copyTo(target, source);
    const { end, timeline } = copied.position;
    expect(end).toBe(durable.position.end);
    const path = join('pg_wal', segmentName(timeline, end));
    const [sent, written] = await Promise.all(
      [target, primary].map(({ dataDir }) => readFile(join(dataDir, path))),
    );
    const offset = end - segmentStart(end);
    expect(sent?.length).toBe(segmentBytes);
    expect(sent?.subarray(0, offset).equals(written!.subarray(0, offset))).toBe(true);
    expect(sent?.subarray(offset).every((byte) => byte === 0)).toBe(true);
    expect(
      (await readdir(join(target.dataDir, 'pg_wal'))).filter(
        (name) => name > segmentName(timeline, end) && /^[0-9A-F]{24}$/.test(name),
      ),
    ).toEqual([]);
    await primary.query('DROP TABLE beyond');
  });

  it('makes no copy of a primary that loses its leadership before, and its hints are not believed afterwards', async () => {
    const source = await sourceOf(primary, { awaitChosen: () => Promise.resolve(false) });
    await expect(copyTo(target, source)).rejects.toMatchObject({
      code: 'transferFailed',
      message: expect.stringContaining('lost its leadership') as string,
    });
    await expectHalfACopy(target);
    expect((await readBasis(target.directory)).byPosition).toBe(false);
    await copyTo(target, await sourceOf(standby));
    expect(await roleOf(target)).toBe('standby');
  });

  it('makes no copy of a primary that waits for it for ever', async () => {
    const told = { waits: false, gaveUp: false };
    const source = await sourceOf(primary, {
      awaitChosen: (_lsn, signal) =>
        new Promise((resolve) => {
          told.waits = true;
          signal.addEventListener('abort', () => {
            told.gaveUp = true;
            resolve(false);
          });
        }),
    });
    const control = new AbortController();
    const copying = copyTo(target, source, { signal: control.signal }).catch((error: unknown) => error);
    while (!told.waits) await sleep(20);
    // Signs of life go on.
    await sleep(2_500);
    await expectHalfACopy(target);
    control.abort(new Error('enough'));
    expect(await copying).toMatchObject({ message: 'enough' });
    expect(told.gaveUp).toBe(true);
    await expectHalfACopy(target);
  });

  it('makes a copy void whose source is promoted meanwhile', async () => {
    const promoted = new PlainPostgres(join(root, 'promoted'), await testBinaries());
    await copyTo(promoted, await sourceOf(standby));
    await promoted.start(primary);
    await promoted.caughtUp(primary);
    let isPromoted = false;
    const rate = (): number => (isPromoted ? 1_000_000_000 : 10_000_000);
    const source = await sourceOf(promoted, { bytesPerSecondMax: rate });
    const begun = beginning();
    const copying = copyTo(target, source, { onProgress: begun.onProgress }).catch((error: unknown) => error);
    await begun.received;
    await promoted.promote();
    // Its files hold what nobody has chosen.
    await promoted.query('UPDATE t SET n = n + 1');
    await promoted.query('CHECKPOINT');
    isPromoted = true;
    expect(await copying).toMatchObject({
      code: expect.stringMatching(/transferFailed|sourceUnavailable/) as string,
      message: expect.stringContaining('promoted') as string,
    });
    await expectHalfACopy(target);
    expect((await readBasis(target.directory)).byPosition).toBe(true);
    expect(await highestPosition(join(target.dataDir, 'base'))).toBeLessThanOrEqual(
      await promoted.forkedAt(),
    );
    await promoted.stop('immediate');
  });
});

describe('a copy that is interrupted', () => {
  it('is half a copy at any instant, and the next attempt sends less', async () => {
    const random = seededRandom(3);
    const sent: number[] = [];
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      const end = 4_000_000 + random() * 8_000_000;
      const control = new AbortController();
      let received = 0;
      const onProgress = ({ bytesReceived }: CopyProgress): void => {
        received = bytesReceived;
        if (bytesReceived > end) control.abort(new Error('enough'));
      };
      const from = await sourceOf(standby, { bytesPerSecondMax: () => 100_000_000 });
      await expect(copyTo(target, from, { onProgress, signal: control.signal })).rejects.toThrow('enough');
      await expectHalfACopy(target);
      sent.push(received);
    }
    const last = await copyTo(target, await sourceOf(standby));
    const sentBefore = sent.reduce((sum, bytes) => sum + bytes, 0);
    // What was sent once is not sent again, but for what was on its way.
    expect(last.bytesReceived + sentBefore).toBeLessThan(1.25 * last.bytesTotal);
    expect(last.bytesReceived).toBeLessThan(0.7 * last.bytesTotal);
    await target.start(primary);
    await target.caughtUp(primary);
    expect(await target.value('SELECT count(*) FROM t')).toBe(await primary.value('SELECT count(*) FROM t'));
  });

  it('by a kill of its process is half a copy, too', async () => {
    const path = join(root, 'socket');
    const source = await sourceOf(standby, { bytesPerSecondMax: () => 40_000_000 });
    const server = createServer({ allowHalfOpen: true }, (socket) => void source.serve(socket));
    server.listen(path);
    const program = fileURLToPath(new URL('testing/receive-forever.ts', import.meta.url));
    try {
      for (const end of [5_000_000, 20_000_000]) {
        const child = spawn(process.execPath, ['--import', 'tsx', program, path, target.directory], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        for await (const line of createInterface(child.stdout)) if (Number(line) > end) child.kill('SIGKILL');
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
        expect(child.signalCode).toBe('SIGKILL');
        await expectHalfACopy(target);
      }
    } finally {
      server.close();
    }
    const last = await copyTo(target, await sourceOf(standby));
    expect(last.bytesReceived).toBeLessThan(0.8 * last.bytesTotal);
    await target.start(primary);
    await target.caughtUp(primary);
  });
});

describe('a copy is refused', () => {
  const refusal = (code: string, message: string) => ({
    code,
    message: expect.stringContaining(message) as string,
  });

  it('to another group, another cluster, another PostgreSQL, another machine', async () => {
    const source = await sourceOf(standby);
    const other = { ...testOwner, cluster: 'c2' };
    await expect(copyTo(target, source, { owner: other })).rejects.toMatchObject(
      refusal('unlike', 'cluster c1'),
    );
    for (const [installation, message] of [
      [{ ...testInstallation, majorVersion: 17 }, 'PostgreSQL is 18 there and 17 here'],
      [{ ...testInstallation, architecture: 'arm64' }, 'architecture'],
      [{ ...testInstallation, libc: '2.31' }, 'C library'],
      [{ ...testInstallation, icu: '72' }, 'ICU is none there and 72 here'],
    ] as const) {
      await expect(copyTo(target, source, { installation })).rejects.toMatchObject(
        refusal('unlike', message),
      );
    }
    expect(await readdir(target.directory).catch(() => [])).not.toContain('state.json');
  });

  it('into a directory that is another cluster’s, or nobody’s, or in use, and changes nothing there', async () => {
    const source = await sourceOf(standby);
    await target.create(join(root, 'template2'));
    const before = await readdir(join(target.dataDir, 'base', '5'));
    await expect(copyTo(target, source)).rejects.toMatchObject(refusal('unlike', 'identifier'));
    await writeFile(join(target.directory, 'cluster'), 'c9\n');
    await expect(copyTo(target, source)).rejects.toMatchObject(refusal('unlike', 'cluster c9'));
    await rm(join(target.directory, 'cluster'));
    await expect(copyTo(target, source)).rejects.toMatchObject(refusal('unlike', 'does not say'));
    expect(await readdir(join(target.dataDir, 'base', '5'))).toEqual(before);
    expect(await roleOf(target)).toBeUndefined();
    await expect(copyTo(standby, source)).rejects.toThrow('a PostgreSQL runs');
  });

  it('where the log does not go on from it, at the beginning or at the end', async () => {
    const source = await sourceOf(standby);
    await expect(copyTo(target, source, { isOfUse: () => false })).rejects.toMatchObject(
      refusal('tooOld', 'slot 7'),
    );
    expect(await roleOf(target)).toBeUndefined();
    let asked = 0;
    await expect(copyTo(target, source, { isOfUse: () => (asked += 1) === 1 })).rejects.toMatchObject({
      code: 'tooOld',
    });
    await expectHalfACopy(target);
  });

  it('with tablespaces of its own, by one that is away, and by one that gives two already', async () => {
    const link = join(standby.dataDir, 'pg_tblspc', '12345');
    await symlink('/tmp', link);
    const source = await sourceOf(standby);
    await expect(copyTo(target, source)).rejects.toMatchObject(refusal('sourceUnavailable', 'tablespaces'));
    await rm(link);
    const away = await sourceOf(standby, { connect: () => Promise.reject(new Error('connect ENOENT')) });
    await expect(copyTo(target, away)).rejects.toMatchObject(refusal('sourceUnavailable', 'ENOENT'));
    const slow = await sourceOf(standby, { bytesPerSecondMax: () => 5_000_000 });
    const control = new AbortController();
    const binaries = await testBinaries();
    const others = [1, 2].map((n) => {
      const one = new PlainPostgres(join(root, `other${targets}-${n}`), binaries);
      const { onProgress, received } = beginning();
      const copying = copyTo(one, slow, { signal: control.signal, onProgress }).catch(() => undefined);
      return { copying, received };
    });
    await Promise.all(others.map(({ received }) => received));
    await expect(copyTo(target, slow)).rejects.toMatchObject(refusal('sourceBusy', '2 copies'));
    control.abort(new Error('enough'));
    await Promise.all(others.map(({ copying }) => copying));
    expect((await copyTo(target, await sourceOf(standby))).blocksReceived).toBeGreaterThan(0);
  });

  it('and leaves no session and no slot behind, whatever became of it', async () => {
    const control = new AbortController();
    setTimeout(() => control.abort(new Error('enough')), 500);
    const source = await sourceOf(standby, { bytesPerSecondMax: () => 5_000_000 });
    await expect(copyTo(target, source, { signal: control.signal })).rejects.toThrow('enough');
    const left =
      "SELECT (SELECT count(*) FROM pg_replication_slots) + (SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_backup%' AND pid <> pg_backend_pid())";
    await expect.poll(() => standby.value(left)).toBe('0');
  });
});
