import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BackupSource } from './base-backup.ts';
import { readBackup, verifyBackup, writeBackup } from './backup-file.ts';
import { inPieces, sealed, smallPosition } from './testing/small-backup.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-backup-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const header = { group: 'main', cluster: 'c1', postgresVersion: '18.4' };

async function source(fails = false): Promise<BackupSource> {
  const bytes = await sealed();
  async function* chunks(): AsyncGenerator<Buffer> {
    yield* inPieces(bytes.subarray(0, 6_000), 1_000);
    if (fails) throw new Error('the source is gone');
    yield bytes.subarray(6_000);
  }
  return {
    open: () =>
      Promise.resolve({ bytesTotal: 10_000, begun: smallPosition, stream: Readable.from(chunks()) }),
  };
}

async function names(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

it('a backup is read back with what it says of itself', async () => {
  const out = join(root, 'whole');
  const progress: (number | null)[] = [];
  const written = await writeBackup({
    source: await source(),
    out,
    header,
    onProgress: (bytes, total) => progress.push(bytes, total),
  });
  const file = await readFile(out);
  expect(written.bytes).toBe(file.length);
  expect(progress.slice(-2)).toEqual([(await sealed()).length, 10_000]);
  // For people: what it is stands in its first line.
  expect(JSON.parse(file.toString('utf8').split('\n')[0] ?? '')).toMatchObject({
    ...header,
    format: 'barista-backup-2',
    state: { position: { slot: 41, timeline: 2 } },
  });
  const directory = join(root, 'unpacked');
  expect(await readBackup({ file: out, directory, majorVersion: 18 })).toEqual({
    header: written.header,
    durable: smallPosition,
  });
  expect(written.header).toMatchObject({ ...header, ...smallPosition });
  expect(await names(join(directory, 'data'))).toContain('PG_VERSION');
});

it('a backup that was cut off or altered anywhere is refused with what is wrong, and nothing is unpacked', async () => {
  const out = join(root, 'spoilt');
  const directory = join(root, 'spoilt-unpacked');
  await writeBackup({ source: await source(), out, header });
  const whole = await readFile(out);
  for (let at = 0; at < whole.length; at += 41) {
    const altered = Buffer.from(whole);
    altered[at] = (altered[at] ?? 0) ^ 1;
    await writeFile(out, altered);
    await expect(readBackup({ file: out, directory: directory, majorVersion: 18 })).rejects.toMatchObject({
      code: 'copyInvalid',
      message: expect.stringMatching(/altered|cut off|not a backup/) as string,
    });
    await writeFile(out, whole);
    await truncate(out, at);
    await expect(verifyBackup(out)).rejects.toThrow(/cut off|not a backup/);
  }
  await writeFile(out, whole.subarray(0, whole.length - 96));
  await expect(verifyBackup(out)).rejects.toThrow(/cut off/);
  expect(await names(directory)).toEqual([]);
  await expect(
    readBackup({ file: join(root, 'nowhere'), directory: directory, majorVersion: 18 }),
  ).rejects.toThrow(/ENOENT/);
});

it('a backup that could not be finished leaves no file, and one that was there as it was', async () => {
  const out = join(root, 'kept');
  await writeFile(out, 'the one of yesterday');
  await expect(writeBackup({ source: await source(true), out, header })).rejects.toThrow(
    'the source is gone',
  );
  const control = new AbortController();
  control.abort(new Error('enough'));
  await expect(writeBackup({ source: await source(), out, header, signal: control.signal })).rejects.toThrow(
    'enough',
  );
  expect(await readFile(out, 'utf8')).toBe('the one of yesterday');
  expect((await readdir(root)).filter((name) => name.startsWith('kept'))).toEqual(['kept']);
});
