/**
 * The segments of pg_wal in which timelines begin, of a directory in which nothing is received: each file begins with what the older timeline has up to the fork.
 *
 * Responsible for: completing those that a standby was ended over. It receives such a segment from its start on, so the file may end below the fork. PostgreSQL reads the newest timeline's file first, comes to its end, is to ask for WAL of the older
 * timeline, and gives up at each start ("according to history file, WAL location ... belongs to timeline 1, but previous recovered WAL file came from timeline 2"). One that is
 * promoted reads its last record again in the same way, and dies of its not being there ("PANIC: invalid record length").
 * Invariant: nothing is written but what the older timeline's file has, where that is valid up to the fork and the newer one's is not.
 */
import { open, readdir, readFile } from './account-files.ts';
import { join } from 'node:path';
import {
  historyName,
  parseLsn,
  segmentBytes,
  segmentName,
  segmentStart,
  type Lsn,
  type Timeline,
} from '../../wal/lsn.ts';
import { RecordChecksum } from '../../wal/record/record-checksum.ts';
import { WalWalker } from '../../wal/record/wal-walker.ts';
import { beginWalkAt } from '../../wal/record/walk-position.ts';

/** Where a timeline is left for the next one, as a history file tells it. */
interface Fork {
  readonly timeline: Timeline;
  readonly at: Lsn;
}

/**
 * Up to some tens of milliseconds for each timeline whose first segment is there still. What cannot be read is left as it is: PostgreSQL, which is started next, says what it thinks of it.
 *
 * `from`: of earlier ones nothing was received since all of them were completed. Resolves true if all could be read.
 */
export function completeTimelineStarts(dataDir: string, from = 0): Promise<boolean> {
  return completeAll(dataDir, from).then(
    () => true,
    () => false,
  );
}

async function completeAll(dataDir: string, from: number): Promise<void> {
  const directory = join(dataDir, 'pg_wal');
  const names = new Set(await readdir(directory));
  const timelines = [...names].flatMap((name) => /^([0-9A-F]{8})\.history$/.exec(name)?.[1] ?? []);
  // What is completed is what the next one is completed with.
  for (const text of timelines.sort()) {
    const timeline = Number.parseInt(text, 16) as Timeline;
    if (timeline < from) continue;
    const forks = parseForks(await readFile(join(directory, historyName(timeline)), 'utf8'));
    const at = forks.at(-1)?.at;
    if (at === undefined) continue;
    const older = timelineBelow(forks, at);
    const [name, source] = [segmentName(timeline, at), older === null ? '' : segmentName(older, at)];
    if (at % segmentBytes === 0 || !names.has(name) || !names.has(source)) continue;
    await complete(join(directory, name), join(directory, source), at);
  }
}

function parseForks(text: string): Fork[] {
  return text
    .split('\n')
    .map((line) => line.split('\t'))
    .filter((fields) => fields.length > 1)
    .map(([timeline, at]) => ({ timeline: Number(timeline) as Timeline, at: parseLsn(at!) }));
}

/** The one that has the last byte below `at`: one that was left where it began has none. */
function timelineBelow(forks: readonly Fork[], at: Lsn): Timeline | null {
  return forks.find((fork) => fork.at >= at)?.timeline ?? null;
}

async function complete(path: string, olderPath: string, fork: Lsn): Promise<void> {
  const [own, older] = [await readStart(path, fork), await readStart(olderPath, fork)];
  if (own.equals(older) || isWhole(own, fork) || !isWhole(older, fork)) return;
  const file = await open(path, 'r+');
  try {
    await file.write(older, 0, older.length, 0);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** What a file has of its segment below the fork. */
async function readStart(path: string, fork: Lsn): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(fork - segmentStart(fork));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** As far as can be told without what lies below the segment: a record that begins there is not looked into. */
function isWhole(bytes: Buffer, fork: Lsn): boolean {
  const walker = new WalWalker(beginWalkAt(segmentStart(fork)), new RecordChecksum());
  walker.add(bytes);
  return walker.fault === null && walker.next >= fork;
}
