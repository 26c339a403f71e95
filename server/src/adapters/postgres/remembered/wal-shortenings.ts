/**
 * Reads in pg_wal which files the WAL makes shorter, while PostgreSQL writes there.
 *
 * Responsible for: the files of the newest timeline of each segment, and whether they have all that is asked for. Changes nothing.
 */
import { join } from 'node:path';
import {
  formatLsn,
  segmentBytes,
  segmentName,
  segmentStart,
  walPageBytes,
  type Lsn,
  type Timeline,
} from '../../../wal/lsn.ts';
import { Shortenings, type MainFork } from '../../../wal/record/shortenings.ts';
import { beginWalkAt } from '../../../wal/record/walk-position.ts';
import { WalWalker } from '../../../wal/record/wal-walker.ts';
import { open, readdir } from '../account-files.ts';
import { isAbsence } from '../inspect-data-directory.ts';

/** `gone`: PostgreSQL has removed WAL that is needed, or it is too much to be read. `unread`: it could not be read up to where it should end. */
export type ReadShortenings =
  | { readonly code: 'read'; readonly shortenings: Shortenings }
  | { readonly code: 'gone' }
  | { readonly code: 'unread'; readonly reason: string };

export interface ShorteningsOptions {
  readonly dataDir: string;
  /** With what they have now: nothing more is read once all of it is explained. */
  readonly wanted: readonly (MainFork & { readonly pages: number })[];
  readonly from: Lsn;
  /** So far it is there. What is there beyond is read, too: it may have been replayed in this moment. */
  readonly until: Lsn;
}

/** Some seconds of work, in pieces of a millisecond. */
const bytesMax = 512 * 1024 * 1024;
const readBytes = 128 * 1024;

/** @throws the file system's error */
export async function readShortenings(options: ShorteningsOptions): Promise<ReadShortenings> {
  const { dataDir, wanted, from, until } = options;
  if (until - from > bytesMax) return { code: 'gone' };
  const directory = join(dataDir, 'pg_wal');
  // A segment in which a timeline begins has a file of each, and the newer one begins with what the older has.
  const names = (await readdir(directory)).filter((name) => /^[0-9A-F]{24}$/.test(name)).sort();
  const newest = new Map(names.map((name) => [name.slice(8), name]));
  const shortenings = new Shortenings(wanted);
  // A record may begin anywhere, a page is known.
  const walker = new WalWalker(beginWalkAt((from - (from % walPageBytes)) as Lsn), shortenings);
  const isDone = (): boolean =>
    walker.fault !== null || wanted.every((fork) => shortenings.explains(fork, fork.pages));
  while (!isDone() && walker.next - from <= 2 * bytesMax) {
    const name = newest.get(suffixOf(walker.next));
    if (name === undefined || !(await readSegment(join(directory, name), walker, isDone))) break;
  }
  if (wanted.every((fork) => shortenings.explains(fork, fork.pages))) return { code: 'read', shortenings };
  if (!newest.has(suffixOf(from)) && until > from) return { code: 'gone' };
  const reached = walker.fault?.at ?? walker.next;
  if (reached >= until) return { code: 'read', shortenings };
  const why = walker.fault?.text ?? 'there is no more';
  return { code: 'unread', reason: `the WAL ends at ${formatLsn(reached)}: ${why}` };
}

/** Reads on to the end of the file. False: there is nothing more in it. */
async function readSegment(path: string, walker: WalWalker, isDone: () => boolean): Promise<boolean> {
  const file = await open(path, 'r').catch((error: unknown) => {
    // PostgreSQL uses it again for something else.
    if (isAbsence(error)) return null;
    throw error;
  });
  if (file === null) return false;
  try {
    const buffer = Buffer.allocUnsafe(readBytes);
    const start = segmentStart(walker.next);
    const first = walker.next;
    while (!isDone() && walker.next < start + segmentBytes) {
      const offset = walker.next - start;
      const { bytesRead } = await file.read(buffer, 0, Math.min(readBytes, segmentBytes - offset), offset);
      if (bytesRead === 0) break;
      walker.add(buffer.subarray(0, bytesRead));
    }
    return walker.next > first;
  } finally {
    await file.close();
  }
}

/** Of the names of a segment's files on all timelines. */
function suffixOf(lsn: Lsn): string {
  return segmentName(1 as Timeline, lsn).slice(8);
}
