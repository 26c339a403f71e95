/**
 * A directory of backups that are made on a schedule, which several replicas may share.
 *
 *   <group>.<time>.<replica>.barista             a whole backup (backup-file.ts)
 *   <group>.<time>.<replica>.barista.partial     one that is being made, or was when its maker died
 *   <group>.<time>.<replica>.barista.test.json   what a restore test of it has found
 *   <group>.making.json                          who is making one
 *
 * Names cannot hold a dot, so nothing here is taken for something else. What has another name is left alone, and so are backups of another cluster: those of the group from which this one was restored, say.
 * Invariants: a backup has its name only if it was read from the disk again and its checksum found right; nothing is removed but what this says.
 */
import { open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import type {
  BackupStore,
  ClaimOutcome,
  KeptBackup,
  RestoreTestResult,
} from '../../../ports/backup-store.ts';
import { makeDirectories, syncPath, writeDurably, readFile } from '../../file-system.ts';
import { type BackupHeader, readBackupEnds, verifyBackup, writeBackup } from './backup-file.ts';
import type { BackupSource } from './base-backup.ts';

export interface BackupDirectoryOptions {
  readonly directory: string;
  readonly group: string;
  readonly replica: string;
  readonly cluster: string;
  readonly source: BackupSource;
  readonly header: () => Pick<BackupHeader, 'group' | 'cluster' | 'postgresVersion'>;
  readonly wallMs: () => number;
}

const suffix = 'barista';
/** Of a replica that does not come back. One that is being made is written to all the time. */
const strayMs = 24 * 3_600_000;
const heldByMax = 1000;

const directoryMode = 0o700;
const testShape = z.object({ ok: z.boolean(), at: z.iso.datetime(), message: z.string() });

/** Looks at nothing yet. */
export function createBackupDirectory(options: BackupDirectoryOptions): BackupStore {
  const { directory, group, wallMs } = options;
  const path = (name: string): string => join(directory, name);
  return {
    list: () => listBackups(options),
    claim: () => claim(options),
    async breakClaim(heldBy) {
      const file = claimFile(options);
      if ((await textOf(file)) === heldBy) await rm(file, { force: true });
    },
    async take(signal) {
      await makeDirectories(directory, directoryMode);
      await removeStray(options);
      const time = new Date(wallMs()).toISOString().replaceAll(/[-:]|\.\d+/g, '');
      const out = path([group, time, options.replica, suffix].join('.'));
      const partial = `${out}.partial`;
      try {
        await writeBackup({ source: options.source, out: partial, header: options.header(), signal });
        await verifyBackup(partial, signal);
        await rename(partial, out);
        await syncPath(directory);
      } catch (error) {
        await rm(partial, { force: true });
        throw error;
      }
    },
    noteTest: (name, result) => writeDurably(path(`${name}.test.json`), `${JSON.stringify(result)}\n`),
    async remove(name) {
      await rm(path(name), { force: true });
      await rm(path(`${name}.test.json`), { force: true });
      await syncPath(directory);
    },
  };
}

/** The parts of the name of a backup of a group; null: it is none. */
function isBackupOf(group: string, name: string): boolean {
  const parts = name.split('.');
  return parts.length === 4 && parts[0] === group && parts[3] === suffix;
}

async function listBackups({ directory, group, cluster }: BackupDirectoryOptions): Promise<KeptBackup[]> {
  await makeDirectories(directory, directoryMode);
  const kept: KeptBackup[] = [];
  for (const name of await readdir(directory)) {
    if (!isBackupOf(group, name)) continue;
    const path = join(directory, name);
    // Another replica may remove it meanwhile.
    const found = await readBackupEnds(path).catch(ifGone);
    if (found === null || found.header.cluster !== cluster) continue;
    const { header, bytes } = found;
    const { slot, end } = header.position;
    const test = await testOf(path);
    kept.push({ name, path, takenAtMs: Date.parse(header.takenAt), slot, end, bytes, test });
  }
  return kept;
}

/** Nor is what is no file, such as a pipe or a directory. */
function ifGone(error: unknown): null {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return null;
  throw error;
}

/** One that cannot be understood says nothing. */
async function testOf(path: string): Promise<RestoreTestResult | null> {
  const text = await textOf(`${path}.test.json`);
  try {
    return text === null ? null : testShape.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

async function textOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(ifGone);
}

function claimFile({ directory, group }: BackupDirectoryOptions): string {
  return join(directory, `${group}.making.json`);
}

async function claim(options: BackupDirectoryOptions): Promise<ClaimOutcome> {
  const file = claimFile(options);
  const life = randomBytes(6).toString('hex');
  let beats = 0;
  const text = (): string => JSON.stringify({ replica: options.replica, life, beats });
  try {
    const handle = await open(file, 'wx', 0o600);
    try {
      await handle.writeFile(text());
    } catch (cause) {
      // On a disk that is full it has a name, and nothing in it.
      await rm(file, { force: true });
      throw cause;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const heldBy = (await textOf(file)) ?? '';
    return { kind: 'taken', heldBy: heldBy.slice(0, heldByMax) };
  }
  const isOwn = async (): Promise<boolean> => (await textOf(file)) === text();
  return {
    kind: 'held',
    claim: {
      async beat() {
        try {
          if (!(await isOwn())) return;
          beats += 1;
          await writeFile(`${file}.${life}`, text(), { mode: 0o600 });
          await rename(`${file}.${life}`, file);
        } catch {
          // The others see no life, and in the end one of them makes another backup.
          await rm(`${file}.${life}`, { force: true }).catch(() => undefined);
        }
      },
      async release() {
        if (await isOwn().catch(() => false)) await rm(file, { force: true });
      },
    },
  };
}

/** What this replica has left, in an earlier life, and what others did that have not come back for long. */
async function removeStray({ directory, group, replica, wallMs }: BackupDirectoryOptions): Promise<void> {
  for (const name of await readdir(directory)) {
    let whole = name;
    while (whole.endsWith('.partial')) whole = whole.slice(0, -'.partial'.length);
    if (whole === name || !isBackupOf(group, whole)) continue;
    const path = join(directory, name);
    const isOwn = whole.split('.')[2] === replica;
    const found = await stat(path).catch(ifGone);
    if (found === null || (!isOwn && wallMs() - found.mtimeMs < strayMs)) continue;
    await rm(path, { force: true });
  }
}
