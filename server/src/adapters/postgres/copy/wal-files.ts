/**
 * Which files of pg_wal hold the chosen WAL from one position to another, and what of them is chosen.
 *
 * Responsible for: names, bounds, and the look at page headers by which WAL is told from what a file held before it was used again. The file of a segment in which timelines fork is that of the newest of them:
 * PostgreSQL begins it with what the older one has up to the fork.
 */
import {
  formatLsn,
  type Lsn,
  segmentBytes,
  segmentName,
  segmentStart,
  type Timeline,
  walPageBytes,
} from '../../../payload/wal/lsn.ts';
import { timelineAt, type WalPosition } from '../../../payload/wal/wal-history.ts';
import { CopyError } from '../../../ports/copy.ts';
import { isZeroPage } from './page.ts';

export interface WalFile {
  readonly name: string;
  readonly timeline: Timeline;
  readonly start: Lsn;
  /** What is chosen of it ends here. */
  readonly end: Lsn;
}

/** From the segment in which `from` is up to the end of what is chosen, the oldest first. */
export function walFilesFrom(from: Lsn, position: WalPosition): WalFile[] {
  const files: WalFile[] = [];
  for (let start = segmentStart(from); start < position.end; start = (start + segmentBytes) as Lsn) {
    const end = Math.min(start + segmentBytes, position.end) as Lsn;
    const timeline = timelineAt(position, (end - 1) as Lsn);
    files.push({ name: segmentName(timeline, start), timeline, start, end });
  }
  return files;
}

/** Of the file, in whole pages. */
export function bytesToCopy({ start, end }: WalFile): number {
  return Math.ceil((end - start) / walPageBytes) * walPageBytes;
}

const pageAddressAt = 8;
const headBytes = 16;

/** Makes zeros of what is not chosen of these pages, which begin at `from` in the file. @throws CopyError if one of them is not the WAL that it should be */
export function keepChosen(file: WalFile, pages: Buffer, from: number): void {
  for (let at = 0; at < pages.length; at += walPageBytes) {
    const page = (file.start + from + at) as Lsn;
    const chosen = Math.min(walPageBytes, file.end - page);
    const address = chosen >= headBytes ? Number(pages.readBigUInt64LE(at + pageAddressAt)) : page;
    // Where PostgreSQL went on in the next file, zeros fill the rest of this one.
    if (address !== page && !isZeroPage(pages, at)) {
      throw new CopyError('transferFailed', `the WAL at ${formatLsn(page)} is not in ${file.name}`);
    }
    if (chosen < walPageBytes) pages.fill(0, at + chosen, at + walPageBytes);
  }
}
