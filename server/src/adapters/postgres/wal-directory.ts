/**
 * The files in pg_wal of a directory on which PostgreSQL does not run, or of a standby: what the WAL below its position is, and where it ends.
 *
 * Responsible for: finding the file that holds a position on a timeline, the end of valid WAL, and what keeps a standby from beginning with it. Changes nothing but what an interrupted promotion left.
 */
import { join } from 'node:path';
import {
  formatLsn,
  segmentBytes,
  segmentName,
  segmentStart,
  type Lsn,
  type Timeline,
} from '../../wal/lsn.ts';
import { timelineAt, type WalPosition } from '../../wal/position.ts';
import { findEndOfWal } from '../../wal/record/end-of-wal.ts';
import { longHeaderBytes } from '../../wal/record/page-header.ts';
import { RecordChecksum } from '../../wal/record/record-checksum.ts';
import { beginWalkAt } from '../../wal/record/walk-position.ts';
import type { WalFault } from '../../wal/record/wal-fault.ts';
import { WalWalker } from '../../wal/record/wal-walker.ts';
import { open, readdir, readFile, rm, stat } from './account-files.ts';
import { isAbsence } from './inspect-data-directory.ts';

/**
 * At most up to the end of the segment; empty if no file holds it. @throws the file system's error if it cannot be read. A segment in which a timeline begins has a file of each, and the newer one begins with what the older has: the file of `timeline` is
 * looked for first, then those of newer ones.
 */
export async function readWalFile(
  dataDir: string,
  from: Lsn,
  timeline: Timeline,
  bytesMax: number,
): Promise<Buffer> {
  const offset = from % segmentBytes;
  const bytes = Math.min(bytesMax, segmentBytes - offset);
  for (const name of await filesOf(dataDir, from, timeline)) {
    const file = await open(join(dataDir, 'pg_wal', name), 'r').catch(absent);
    if (file === null) continue;
    try {
      const buffer = Buffer.allocUnsafe(bytes);
      const { bytesRead } = await file.read(buffer, 0, bytes, offset);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }
  return Buffer.alloc(0);
}

async function filesOf(dataDir: string, lsn: Lsn, timeline: Timeline): Promise<readonly string[]> {
  const own = segmentName(timeline, lsn);
  const suffix = own.slice(8);
  const names = (await readdir(join(dataDir, 'pg_wal')).catch(absent)) ?? [];
  const newer = names.filter((name) => name.length === own.length && name.endsWith(suffix) && name > own);
  return [own, ...newer.sort()];
}

/**
 * Where the valid WAL on this timeline ends, as PostgreSQL's recovery would find it: the end of the last whole record.
 * `known`: up to there it is known to be valid. Below the last checkpoint it was valid, and may have been removed since. @throws Error if the files do not have it up to there
 */
export async function endOfWal(dataDir: string, timeline: Timeline, known: Lsn): Promise<Lsn> {
  const checkpoint = await readCheckpoint(dataDir).catch(absent);
  const isKept = checkpoint === null || checkpoint.timeline !== timeline || checkpoint.redo <= known;
  const from = isKept ? known : checkpoint.redo;
  const found = await findEndOfWal((lsn, bytesMax) => readWalFile(dataDir, lsn, timeline, bytesMax), from);
  if (found.code === 'found') return found.end;
  const { fault } = found;
  const why = fault === null ? 'there are not enough files' : `at ${formatLsn(fault.at)}: ${fault.text}`;
  throw new Error(`the WAL of timeline ${timeline} is not whole up to ${formatLsn(from)}: ${why}`);
}

/**
 * What is missing of the WAL that a standby needs which has received everything up to the position: from where its recovery begins. Null: each file is there, is as long as it must be, and its newest `checkedBytesMax`
 * are whole records. (PostgreSQL would ask for what it cannot read again and again, and be fed what is in this very directory.)
 */
export async function missingWal(dataDir: string, position: WalPosition): Promise<string | null> {
  const { redo } = await readCheckpoint(dataDir);
  const { end } = position;
  const directory = join(dataDir, 'pg_wal');
  const names = await readdir(directory);
  for (let from = redo - (redo % segmentBytes); from < end; from += segmentBytes) {
    const suffix = segmentName(1 as Timeline, from as Lsn).slice(8);
    const bytes = Math.min(segmentBytes, end - from);
    const files = names.filter((name) => /^[0-9A-F]{24}$/.test(name) && name.endsWith(suffix));
    const sizes = await Promise.all(files.map(async (name) => (await stat(join(directory, name))).size));
    if (!sizes.some((size) => size >= bytes))
      return `${directory} lacks WAL that is needed, at ${formatLsn(from as Lsn)}`;
  }
  const fault = await faultBelow(dataDir, position, redo);
  return fault === null
    ? null
    : `${directory} holds WAL that cannot be read, at ${formatLsn(fault.at)}: ${fault.text}`;
}

/** It bounds the work before a start. What is below was replayed longer ago, and PostgreSQL finds out itself. */
const checkedBytesMax = 2 * segmentBytes;
const readBytes = 256 * 1024;

/** `redo`: a record begins there. A file of the timeline that a segment ends on holds what it has of older ones, too. */
async function faultBelow(dataDir: string, position: WalPosition, redo: Lsn): Promise<WalFault | null> {
  const { end } = position;
  const from = Math.max(redo, segmentStart((end - checkedBytesMax) as Lsn)) as Lsn;
  if (from >= end) return null;
  // PostgreSQL looks at the header of a segment, wherever in it it begins to read.
  const header = segmentStart(from);
  const headerEnd = Math.min(header + longHeaderBytes, end) as Lsn;
  return (
    (await walkOver(dataDir, position, header, headerEnd)) ?? (await walkOver(dataDir, position, from, end))
  );
}

async function walkOver(
  dataDir: string,
  position: WalPosition,
  from: Lsn,
  to: Lsn,
): Promise<WalFault | null> {
  const walker = new WalWalker(beginWalkAt(from), new RecordChecksum());
  while (walker.fault === null && walker.next < to) {
    const last = (Math.min(segmentStart(walker.next) + segmentBytes, position.end) - 1) as Lsn;
    const bytes = Math.min(readBytes, last + 1 - walker.next, to - walker.next);
    const found = await readWalFile(dataDir, walker.next, timelineAt(position, last), bytes);
    // It has it under an older timeline: looked for where it is fed.
    if (found.length === 0) return null;
    walker.add(found);
  }
  return walker.fault;
}

/** In pg_control, of PostgreSQL 15 to 18: where a recovery begins, the timelines of the last checkpoint, and of the point that recovery must reach. */
const redoAt = 40;
const timelinesAt = [48, 144] as const;

const readControl = (dataDir: string): Promise<Buffer> => readFile(join(dataDir, 'global', 'pg_control'));

async function readCheckpoint(dataDir: string): Promise<{ readonly redo: Lsn; readonly timeline: Timeline }> {
  const control = await readControl(dataDir);
  const [timelineAt] = timelinesAt;
  return {
    redo: Number(control.readBigUInt64LE(redoAt)) as Lsn,
    timeline: control.readUInt32LE(timelineAt) as Timeline,
  };
}

/** See the port. Timelines above `from` have been begun by nobody else in this directory. */
export async function settlePromotion(
  dataDir: string,
  from: Timeline,
  timeline: Timeline,
): Promise<'done' | 'none' | 'other'> {
  const control = await readControl(dataDir);
  const reached = Math.max(...timelinesAt.map((at) => control.readUInt32LE(at)));
  if (reached > from) return reached === timeline ? 'done' : 'other';
  for (const name of await readdir(join(dataDir, 'pg_wal'))) {
    // Folders, whose names may begin like a number, are left alone.
    const number = /^[0-9A-F]{8}/.exec(name)?.[0] ?? '0';
    if (Number.parseInt(number, 16) > from) await rm(join(dataDir, 'pg_wal', name), { force: true });
  }
  return 'none';
}

function absent(error: unknown): null {
  if (isAbsence(error)) return null;
  throw error;
}
