/**
 * Which files of pg_wal hold the chosen WAL from one position to another, and what of them is chosen.
 *
 * Responsible for: names, bounds, and the look at page headers by which WAL is told from what a file held before it was used again. The file of a segment in which timelines fork is that of the newest of them:
 * PostgreSQL begins it with what the older one has up to the fork. What follows a switch of segments means nothing, and need not have been received where the next timeline forks behind it.
 */
import {
  formatLsn,
  type Lsn,
  segmentBytes,
  segmentName,
  segmentStart,
  type Timeline,
  walPageBytes,
} from '../../../wal/lsn.ts';
import { WalWalker } from '../../../wal/record/wal-walker.ts';
import { beginWalkAt } from '../../../wal/record/walk-position.ts';
import { timelineAt, type WalPosition } from '../../../wal/position.ts';
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

/**
 * To be given all pages of the file that are copied, in their order; `from`: where they begin in it. Makes zeros of what is not chosen of them, and of the rest of a segment behind a switch.
 * What it returns @throws CopyError if one of them is not the WAL that it should be
 */
export function keepChosen(file: WalFile): (pages: Buffer, from: number) => void {
  const walker = new WalWalker(beginWalkAt(file.start));
  return (pages, from) => {
    for (let at = 0; at < pages.length; at += walPageBytes) {
      const page = (file.start + from + at) as Lsn;
      // A switch ends with its segment.
      const isRest = (walker.lastRecordEnd ?? file.start) >= page + walPageBytes;
      const kept = isRest ? 0 : Math.min(walPageBytes, file.end - page);
      const address = kept >= headBytes ? Number(pages.readBigUInt64LE(at + pageAddressAt)) : page;
      if (address !== page && !isZeroPage(pages, at))
        throw new CopyError('transferFailed', `the WAL at ${formatLsn(page)} is not in ${file.name}`);
      if (!isRest) walker.add(pages.subarray(at, at + kept));
      if (kept < walPageBytes) pages.fill(0, at + kept, at + walPageBytes);
    }
  };
}
