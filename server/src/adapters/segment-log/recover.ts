/**
 * Opens the segments of a directory and finds out what the log holds.
 *
 * Invariants kept:
 * - What it returns as recovered is on stable storage, not merely in the system's cache: a killed process may have left a
 *   write there that never reached the disk.
 * - What was ever acknowledged is recovered, or opening fails with logCorrupt and the place. A torn tail is overwritten with zeros.
 */
import { LogStoreError, type LogIdentity } from '../../ports/log-store.ts';
import { higherBallot } from '../../multipaxos/ballot.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { Ballot, GroupId, Slot } from '../../multipaxos/types/names.ts';
import type { SlotBallot } from '../../multipaxos/types/records.ts';
import { corrupt } from './errors.ts';
import {
  SECTOR_BYTES,
  decodeSegmentHeader,
  segmentName,
  segmentOfName,
  segmentSeed,
  type SegmentHeader,
} from './layout.ts';
import type { RecordSummary } from './record-codec.ts';
import type { SegmentDirectory, SegmentFile } from './segment-directory.ts';
import { firstNonZero, scanSegment, type Damage, type SegmentScan } from './segment-scan.ts';
import { SPARE_NAME, writeZeros, type Segment } from './segment-set.ts';
import { createSlotIndex, type SlotIndex } from './slot-index.ts';

/** All that the log remembers, besides the entries. */
export interface LogState {
  readonly logId: string;
  readonly identity: LogIdentity;
  promised: Ballot;
  commitPoint: Slot;
  purgedTo: Slot;
  configuration: Configuration;
  /** While recovering: of the slots of single-decree Paxos. Nobody looks at it afterwards, and nothing is added to it. */
  readonly slotPromises: Map<Slot, Ballot>;
  /** Of the next frame. */
  sequence: number;
  /** Where in the current segment it starts. */
  end: number;
  /** Whether the newest records are followed by a proof that they are durable. */
  sealed: boolean;
}

export interface RecoveredSegments {
  readonly segments: Segment[];
  readonly index: SlotIndex;
  /** Null if the directory holds no log. */
  readonly state: LogState | null;
}

/** @throws LogStoreError logCorrupt; anything that the file system throws */
export async function recoverSegments(
  directory: SegmentDirectory,
  group: GroupId,
): Promise<RecoveredSegments> {
  const names = await directory.list();
  if (names.includes(SPARE_NAME)) await directory.remove(SPARE_NAME);
  const numbers = names.flatMap((name) => segmentOfName(name) ?? []).sort((a, b) => a - b);
  const recovered: { segments: Segment[]; index: SlotIndex; state: LogState | null } = {
    segments: [],
    index: createSlotIndex(),
    state: null,
  };
  try {
    for (const [i, number] of numbers.entries()) {
      if (i > 0 && number !== (numbers[i - 1] as number) + 1) {
        throw corrupt(`${directory.path}/${segmentName(number - 1)}`, 0, null, 'the segment is missing');
      }
      const isLast = i === numbers.length - 1;
      recovered.state = await recoverSegment(directory, number, group, recovered, isLast);
    }
    // The last rename may not be durable yet.
    if (numbers.length > 0) await directory.sync();
  } catch (error) {
    for (const segment of recovered.segments) await segment.file.close();
    throw error;
  }
  if (recovered.state !== null) recovered.index.dropThrough(recovered.state.purgedTo);
  return recovered;
}

async function recoverSegment(
  directory: SegmentDirectory,
  number: number,
  group: GroupId,
  recovered: RecoveredSegments,
  isLast: boolean,
): Promise<LogState> {
  const path = `${directory.path}/${segmentName(number)}`;
  const file = await directory.open(segmentName(number));
  try {
    const bytes = Buffer.allocUnsafe(await file.size());
    const image = bytes.subarray(0, await file.read(bytes, 0));
    const { header, headerBytes } = checkHeader(path, image, number, group, recovered.state);
    const seed = segmentSeed(header.logId, number);
    const segment = { number, bytes: header.segmentBytes, seed, file, maxSlot: 0 as Slot };
    const state = startState(header, headerBytes, recovered.state);
    const content = image.subarray(0, header.segmentBytes);
    const start = { headerBytes, seed, firstSequence: header.firstSequence };
    const scan = scanSegment(content, start, (record, offset, bytes) => {
      rememberRecord(state, record);
      if (record.kind === 'slotPromise') {
        rememberSlotPromise(state, record);
        segment.maxSlot = higherSlot(segment.maxSlot, record.slot);
      }
      if (record.kind !== 'entry') return;
      recovered.index.set(record.slot, { segment: number, offset, bytes });
      segment.maxSlot = higherSlot(segment.maxSlot, record.slot);
    });
    state.sequence = scan.nextSequence;
    state.end = scan.end;
    state.sealed = scan.sealed;
    refuseCorruption(path, content, header, scan, isLast);
    if (isLast) await repairTail(file, content, header, scan);
    recovered.segments.push(segment);
    return state;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** What a record changes in all that the log remembers besides entries. None of it ever goes back. */
export function rememberRecord(state: LogState, record: RecordSummary): void {
  switch (record.kind) {
    case 'promise':
      state.promised = higherBallot(state.promised, record.ballot);
      return;
    case 'entry':
      if (record.ballot !== null) state.promised = higherBallot(state.promised, record.ballot);
      return;
    case 'slotPromise':
      return;
    case 'commitPoint':
      state.commitPoint = higherSlot(state.commitPoint, record.slot);
      return;
    case 'purged':
      state.purgedTo = higherSlot(state.purgedTo, record.slot);
      return;
    case 'configuration':
      state.configuration = newerConfiguration(state.configuration, record.configuration);
      return;
    case 'base':
      state.purgedTo = higherSlot(state.purgedTo, record.slot);
      state.commitPoint = higherSlot(state.commitPoint, record.slot);
      state.configuration = newerConfiguration(state.configuration, record.configuration);
  }
}

function rememberSlotPromise({ slotPromises }: LogState, { slot, ballot }: SlotBallot): void {
  slotPromises.set(slot, higherBallot(slotPromises.get(slot) ?? ballot, ballot));
}

function checkHeader(
  path: string,
  image: Buffer,
  number: number,
  group: GroupId,
  before: LogState | null,
): { readonly header: SegmentHeader; readonly headerBytes: number } {
  const verdict = decodeSegmentHeader(image);
  if (verdict.kind === 'otherVersion') throw new LogStoreError('logFailed', `${path}: ${verdict.reason}`);
  if (verdict.kind === 'bad') throw corrupt(path, 0, null, verdict.reason);
  const { header } = verdict;
  if (header.group !== group) {
    throw new LogStoreError('logFailed', `${path} belongs to group ${header.group}, not to ${group}`);
  }
  if (header.segment !== number || (before !== null && header.logId !== before.logId)) {
    throw corrupt(path, 0, null, 'the segment belongs to another place or another log');
  }
  if (before !== null && header.firstSequence !== before.sequence) {
    const where = `${path.slice(0, path.lastIndexOf('/'))}/${segmentName(number - 1)}`;
    throw corrupt(where, before.end, null, 'records at the end of the segment are gone');
  }
  return verdict;
}

function startState(header: SegmentHeader, headerBytes: number, before: LogState | null): LogState {
  const { logId, identity, promised, commitPoint, purgedTo, configuration } = header;
  const state: LogState = {
    logId,
    identity,
    promised,
    commitPoint,
    purgedTo,
    configuration,
    slotPromises: before?.slotPromises ?? new Map<Slot, Ballot>(),
    sequence: header.firstSequence,
    end: headerBytes,
    sealed: true,
  };
  if (before === null) return state;
  rememberRecord(state, { kind: 'promise', ballot: before.promised });
  rememberRecord(state, { kind: 'commitPoint', slot: before.commitPoint });
  rememberRecord(state, { kind: 'purged', slot: before.purgedTo });
  rememberRecord(state, { kind: 'configuration', configuration: before.configuration });
  return state;
}

/** Only the last segment can end in a torn write, and only if it still has the length that it was made with. */
function refuseCorruption(
  path: string,
  content: Buffer,
  header: SegmentHeader,
  scan: SegmentScan,
  isLast: boolean,
): void {
  const damage: Damage | null = scan.damage;
  if (damage !== null && (damage.wasDurable || !isLast))
    throw corrupt(path, damage.offset, damage.slot, damage.reason);
  // Cut inside its records, or just behind them: nobody can tell how many went. A cut in the unused zeros does no harm.
  const isShort = content.length < header.segmentBytes;
  if (isShort && (damage !== null || scan.end + SECTOR_BYTES > content.length)) {
    throw corrupt(
      path,
      content.length,
      null,
      `the segment was cut off: it was made with ${header.segmentBytes} bytes`,
    );
  }
}

async function repairTail(
  file: SegmentFile,
  content: Buffer,
  header: SegmentHeader,
  scan: SegmentScan,
): Promise<void> {
  await file.sync();
  if (firstNonZero(content, scan.end) !== null) await writeZeros(file, scan.end, content.length);
  await writeZeros(file, content.length, header.segmentBytes);
}

export function higherSlot(a: Slot, b: Slot): Slot {
  return a > b ? a : b;
}

/** `b` unless `a` is newer: of one version there is only one. */
function newerConfiguration(a: Configuration, b: Configuration): Configuration {
  return a.version > b.version ? a : b;
}
