/**
 * Copies the files of a database that is running, as a backup may: what is written meanwhile is made up for by the WAL.
 *
 * Responsible for: files and names; whoever asks makes them durable. A file that has not changed since the copy before is that copy's file, by a second name: so a large database of which little changes costs little.
 * Blocks are shared with the source where the file system can do that.
 */
import { constants } from 'node:fs';
import { link } from 'node:fs/promises';
import { join } from 'node:path';
import { copyFile, exactStat, exists, makeDirectories } from '../account-files.ts';
import { listDatabase } from '../copy/source-listing.ts';

/** What the copied files were like when they were copied. */
export interface CopiedFiles {
  readonly directory: string;
  readonly beganAtMs: number;
  readonly files: ReadonlyMap<string, FileMark>;
  /** That were copied, and those of the copy before that were of use. */
  readonly bytesCopied: number;
  readonly bytesKept: number;
}

interface FileMark {
  readonly inode: bigint;
  readonly bytes: bigint;
  readonly changedNs: bigint;
}

/** What was written that shortly before a copy may have been written again without it showing. */
const surelyOlderMs = 2_000;

/** All but the WAL and pg_control. @throws the file system's error */
export async function copyDatabaseFiles(
  from: string,
  to: string,
  before: CopiedFiles | null,
  pass: (bytes: number) => Promise<void>,
): Promise<CopiedFiles> {
  const beganAtMs = Date.now();
  const files = new Map<string, FileMark>();
  let bytesCopied = 0;
  let bytesKept = 0;
  await makeDirectories(to);
  for await (const listed of listDatabase(from)) {
    await makeDirectories(join(to, listed.path));
    for (const name of listed.directories) await makeDirectories(join(to, listed.path, name));
    for (const name of listed.files) {
      const path = join(listed.path, name);
      const mark = await markOf(join(from, path));
      if (mark === null) continue;
      files.set(path, mark);
      if (
        isUnchanged(before, path, mark) &&
        (await isLinked(join(before!.directory, path), join(to, path)))
      ) {
        bytesKept += Number(mark.bytes);
        continue;
      }
      await pass(Number(mark.bytes));
      if (await copyOne(join(from, path), join(to, path))) bytesCopied += Number(mark.bytes);
    }
  }
  return { directory: to, beganAtMs, files, bytesCopied, bytesKept };
}

function isUnchanged(before: CopiedFiles | null, path: string, mark: FileMark): boolean {
  const old = before?.files.get(path);
  if (before === null || old === undefined) return false;
  const isSame = old.inode === mark.inode && old.bytes === mark.bytes && old.changedNs === mark.changedNs;
  return isSame && mark.changedNs < BigInt(before.beganAtMs - surelyOlderMs) * 1_000_000n;
}

function isLinked(from: string, to: string): Promise<boolean> {
  return link(from, to).then(
    () => true,
    () => false,
  );
}

async function markOf(path: string): Promise<FileMark | null> {
  try {
    const { ino, size, mtimeNs } = await exactStat(path);
    return { inode: ino, bytes: size, changedNs: mtimeNs };
  } catch (error) {
    // It was removed meanwhile, and the WAL says so.
    if (isAbsence(error)) return null;
    throw error;
  }
}

/** False: it was removed meanwhile. */
export async function copyOne(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  } catch (error) {
    if (isAbsence(error) && !(await exists(from))) return false;
    throw error;
  }
  return true;
}

function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
