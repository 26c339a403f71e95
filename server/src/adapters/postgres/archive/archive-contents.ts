/**
 * What an archive of WAL holds: its files, and from where to where they follow each other without a gap.
 *
 *   <24 hexadecimal digits>            a whole segment, named as PostgreSQL does
 *   <24 hexadecimal digits>.partial    its beginning: of the newest one, of one that a fork of timelines or a gap left behind
 *   <8 hexadecimal digits>.history     where a timeline comes from
 *   archive.json                       whose WAL it is, and up to where it is durable
 *
 * Responsible for: names, the file archive.json, and finding gaps. Writes no WAL.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type Lsn, segmentBytes, type Timeline } from '../../../wal/lsn.ts';
import { writeDurably, readFile } from '../../file-system.ts';

export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

/** `end`: everything from the beginning of its segment up to it is there, durably. */
export interface ArchiveState {
  /** PostgreSQL's identifier of the cluster. */
  readonly system: bigint;
  /** The name of the group's founding; null: it is not told. */
  readonly cluster: string | null;
  readonly timeline: Timeline;
  readonly end: Lsn;
}

export const partialSuffix = '.partial';
const stateFile = 'archive.json';
const shape = z.strictObject({
  version: z.literal(1),
  system: z.string().regex(/^\d+$/).transform(BigInt),
  cluster: z.string().nullable().default(null),
  timeline: z.int().min(1),
  end: z.int().min(0),
});

/** Null: there is none. @throws ArchiveError if it cannot be understood */
export async function readArchiveState(directory: string): Promise<ArchiveState | null> {
  const path = join(directory, stateFile);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  try {
    const { system, cluster, timeline, end } = shape.parse(JSON.parse(text));
    return { system, cluster, timeline: timeline as Timeline, end: end as Lsn };
  } catch (cause) {
    throw new ArchiveError(`${path} cannot be understood`, { cause });
  }
}

export async function writeArchiveState(directory: string, state: ArchiveState): Promise<void> {
  const document = { version: 1, ...state, system: String(state.system) };
  await writeDurably(join(directory, stateFile), `${JSON.stringify(document)}\n`);
}

export interface ArchivedSegment {
  readonly name: string;
  readonly timeline: Timeline;
  readonly start: Lsn;
  readonly isPartial: boolean;
}

const segmentFile = /^([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})(\.partial)?$/;

/** By position, then by timeline. @throws ArchiveError; the file system's error */
export async function listSegments(directory: string): Promise<ArchivedSegment[]> {
  const segments: ArchivedSegment[] = [];
  for (const name of await filesNamed(segmentFile, directory)) {
    const [, timeline = '', high = '', low = '', partial] = segmentFile.exec(name) ?? [];
    const start = (Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16) * segmentBytes) as Lsn;
    segments.push({
      name,
      timeline: Number.parseInt(timeline, 16) as Timeline,
      start,
      isPartial: partial !== undefined,
    });
  }
  return segments.toSorted((one, other) => one.start - other.start || one.timeline - other.timeline);
}

/** What says where timelines come from. @throws ArchiveError; the file system's error */
export function listHistories(directory: string): Promise<string[]> {
  return filesNamed(/^[0-9A-F]{8}\.history$/, directory);
}

/** Whoever opened a pipe in the place of a file would wait for ever. */
async function filesNamed(pattern: RegExp, directory: string): Promise<string[]> {
  const found = await readdir(directory, { withFileTypes: true });
  const entries = found.filter(({ name }) => pattern.test(name));
  const other = entries.find((entry) => !entry.isFile());
  if (other !== undefined) throw new ArchiveError(`${join(directory, other.name)} is not a file`);
  return entries.map(({ name }) => name);
}

/** WAL without a gap, from one position to another. */
export interface Stretch {
  readonly from: Lsn;
  readonly to: Lsn;
}

export interface ArchiveContents {
  readonly system: bigint;
  /** Up to where it is complete, by its own word. */
  readonly end: Lsn;
  /** The oldest first; between two of them something is missing. */
  readonly stretches: readonly Stretch[];
}

/** @throws ArchiveError if it is no archive */
export async function readArchive(directory: string): Promise<ArchiveContents> {
  try {
    const state = await readArchiveState(directory);
    if (state === null)
      throw new ArchiveError(`${directory} holds no archive of WAL: archive.json is missing`);
    const { system, end } = state;
    // PostgreSQL reads them, too.
    await listHistories(directory);
    return { system, end, stretches: stretchesOf(await listSegments(directory), state) };
  } catch (cause) {
    throw cause instanceof ArchiveError ? cause : new ArchiveError(`${directory} cannot be read`, { cause });
  }
}

/** Of a segment that several timelines have, the newest one's file counts: it has all before the fork, too. */
export function stretchesOf(
  segments: readonly ArchivedSegment[],
  { timeline, end }: Pick<ArchiveState, 'timeline' | 'end'>,
): Stretch[] {
  const newest = new Map(segments.map((segment) => [segment.start, segment]));
  const stretches: Stretch[] = [];
  for (const { start, isPartial, ...segment } of newest.values()) {
    const isLast = segment.timeline === timeline && start <= end && end < start + segmentBytes;
    // How much of another one there is, nobody knows.
    const to = (isPartial ? (isLast ? end : start) : start + segmentBytes) as Lsn;
    if (to === start) continue;
    const before = stretches.at(-1);
    if (before?.to === start) stretches[stretches.length - 1] = { from: before.from, to };
    else stretches.push({ from: start, to });
  }
  return stretches;
}
