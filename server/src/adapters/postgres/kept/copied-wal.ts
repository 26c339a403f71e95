/**
 * The WAL that goes with a copy of a database, up to a position and no further: a PostgreSQL that is started on it replays it to its end.
 *
 * Invariants: what was there up to an earlier end stays as it is while more is appended; everything is durable when a function resolves.
 */
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Lsn,
  segmentBytes,
  segmentName,
  segmentOf,
  segmentStart,
  type Timeline,
} from '../../../wal/lsn.ts';
import { copyFile, makeDirectories, open, readdir, rm, syncPath } from '../account-files.ts';
import { walDirectory, walSubdirectories } from '../copy/file-class.ts';

export interface WalPlace {
  /** A data directory. */
  readonly to: string;
  readonly timeline: Timeline;
}

const pieceBytes = 1024 * 1024;
const segmentPattern = /^[0-9A-F]{24}$/;

/** Of the database `data`, from the segment of `from` on, up to `end`. */
export async function copyWal(data: string, { to, timeline }: WalPlace, from: Lsn, end: Lsn): Promise<void> {
  await makeDirectories(join(to, walDirectory), 0o700);
  for (const name of walSubdirectories) await makeDirectories(join(to, walDirectory, name), 0o700);
  for (let start = segmentStart(from); start < end; start = (start + segmentBytes) as Lsn) {
    const path = join(walDirectory, segmentName(timeline, start));
    await copyFile(join(data, path), join(to, path), constants.COPYFILE_FICLONE);
    // What follows was not there yet at the slot that this is a copy of.
    await changed(join(to, path), (file) => endAt(file, Math.min(segmentBytes, end - start)));
  }
  await syncPath(join(to, walDirectory));
}

/** What is behind `from`, which was its end, up to `end`. */
export async function appendWal(
  data: string,
  { to, timeline }: WalPlace,
  from: Lsn,
  end: Lsn,
): Promise<void> {
  for (let start = segmentStart(from); start < end; start = (start + segmentBytes) as Lsn) {
    const path = join(walDirectory, segmentName(timeline, start));
    const source = await open(join(data, path), 'r');
    try {
      await changed(join(to, path), async (file) => {
        const upTo = Math.min(segmentBytes, end - start);
        await copyPiece(source, file, Math.max(0, from - start), upTo);
        await endAt(file, upTo);
      });
    } finally {
      await source.close();
    }
  }
  await syncPath(join(to, walDirectory));
}

/** Where the WAL begins that goes with a copy. Null: there is none. */
export async function walBegin(to: string): Promise<Lsn | null> {
  const [first] = (await readdir(join(to, walDirectory)))
    .filter((name) => segmentPattern.test(name))
    .toSorted();
  return first === undefined ? null : segmentOf(first);
}

/** More may be there, which was appended and not told. */
export async function cutWal({ to, timeline }: WalPlace, end: Lsn): Promise<void> {
  const last = segmentName(timeline, segmentStart(end));
  for (const name of await readdir(join(to, walDirectory))) {
    if (!segmentPattern.test(name)) continue;
    if (name > last || (name === last && end === segmentStart(end))) await rm(join(to, walDirectory, name));
    else if (name === last)
      await changed(join(to, walDirectory, name), (file) => endAt(file, end - segmentStart(end)));
  }
  await syncPath(join(to, walDirectory));
}

async function copyPiece(from: FileHandle, to: FileHandle, begin: number, end: number): Promise<void> {
  const piece = Buffer.allocUnsafe(Math.min(pieceBytes, end - begin));
  for (let at = begin; at < end; ) {
    const { bytesRead } = await from.read(piece, 0, Math.min(piece.length, end - at), at);
    if (bytesRead === 0) throw new Error('a segment of the WAL is too short');
    await to.write(piece, 0, bytesRead, at);
    at += bytesRead;
  }
}

/** Zeros up to the segment's end. */
async function endAt(file: FileHandle, bytes: number): Promise<void> {
  await file.truncate(bytes);
  await file.truncate(segmentBytes);
}

async function changed(path: string, change: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    await change(file);
    await file.sync();
  } finally {
    await file.close();
  }
}
