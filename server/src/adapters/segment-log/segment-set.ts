/**
 * The segments of one log: which exist, which is written to, and the making of the next one.
 *
 * A new segment is written full of zeros under another name and renamed when its header is durable, so a segment that has its name
 * is whole: writing to it needs no space and changes no metadata. The next one is made ready when the current is half full.
 * Not responsible for what is inside the frames.
 */
import type { Slot } from '../../multipaxos/types/names.ts';
import {
  encodeSegmentHeader,
  roundUpToSector,
  segmentHeaderBytes,
  segmentName,
  segmentSeed,
  type SegmentHeader,
} from './layout.ts';
import type { SegmentDirectory, SegmentFile } from './segment-directory.ts';

/** What is not yet a segment; removed when the log is opened. */
export const SPARE_NAME = 'next.tmp';
const ZEROS = Buffer.alloc(1024 * 1024);

export interface Segment {
  readonly number: number;
  readonly bytes: number;
  readonly seed: number;
  readonly file: SegmentFile;
  /** Highest slot of any record in it. */
  maxSlot: Slot;
}

export interface SegmentSet {
  readonly current: () => Segment;
  readonly get: (number: number) => Segment | undefined;
  readonly list: () => readonly Segment[];
  /** Bytes on disk, the spare included. */
  readonly bytes: () => number;
  /** Makes the next segment ready in the background. Failures show when it is needed. */
  readonly prepare: () => void;
  /** Starts a new segment with room for a frame of `frameBytes`; returns where that starts. */
  readonly advance: (
    frameBytes: number,
    header: Omit<SegmentHeader, 'segment' | 'segmentBytes'>,
  ) => Promise<number>;
  /** Removes these, which are the oldest. */
  readonly drop: (segments: readonly Segment[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

interface Spare {
  readonly file: SegmentFile;
  readonly bytes: number;
}

/** Writes zeros over [from, to). */
export async function writeZeros(file: SegmentFile, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += ZEROS.length) {
    await file.write(ZEROS.subarray(0, Math.min(ZEROS.length, to - at)), at);
  }
}

/** `segments`: those that exist, oldest first; may be empty until the first `advance`. */
export function createSegmentSet(
  directory: SegmentDirectory,
  segmentBytes: number,
  segments: Segment[],
): SegmentSet {
  let spare: Promise<Spare> | null = null;
  let spareBytes = 0;
  // After a failure the next one is made when it is needed, not over and over in the background on a full disk.
  let prepareFailed = false;

  const makeSpare = async (bytes: number): Promise<Spare> => {
    const file = await directory.create(SPARE_NAME);
    try {
      await writeZeros(file, 0, bytes);
    } catch (error) {
      // Give back at once what was taken: a full disk is shared with the database.
      await file.close();
      await directory.remove(SPARE_NAME);
      throw error;
    }
    spareBytes = bytes;
    return { file, bytes };
  };

  const prepare = (): void => {
    if (spare !== null || prepareFailed) return;
    const making = makeSpare(segmentBytes);
    spare = making;
    making.catch(() => {
      if (spare === making) spare = null;
      prepareFailed = true;
    });
  };

  /** The spare if it is ready and large enough, else a new one. */
  const takeSpare = async (bytes: number): Promise<Spare> => {
    const ready = await spare?.catch(() => null);
    if (ready != null) {
      if (ready.bytes >= bytes) return ready;
      await ready.file.close();
    }
    const making = makeSpare(bytes);
    spare = making;
    try {
      return await making;
    } catch (error) {
      spare = null;
      throw error;
    }
  };

  return {
    current: () => {
      const last = segments.at(-1);
      if (last === undefined) throw new Error('the log has no segment yet');
      return last;
    },
    get: (number) => segments[number - (segments[0]?.number ?? 0)],
    list: () => segments,
    bytes: () => segments.reduce((sum, segment) => sum + segment.bytes, spareBytes),
    prepare,
    async advance(frameBytes, header) {
      const number = (segments.at(-1)?.number ?? 0) + 1;
      const headerBytes = segmentHeaderBytes({ ...header, segment: number });
      const { file, bytes } = await takeSpare(
        Math.max(segmentBytes, headerBytes + roundUpToSector(frameBytes)),
      );
      await file.write(encodeSegmentHeader({ ...header, segment: number, segmentBytes: bytes }), 0);
      await directory.rename(SPARE_NAME, segmentName(number));
      await directory.sync();
      spare = null;
      spareBytes = 0;
      prepareFailed = false;
      segments.push({ number, bytes, seed: segmentSeed(header.logId, number), file, maxSlot: 0 as Slot });
      return headerBytes;
    },
    async drop(dropped) {
      for (const segment of dropped) {
        if (segments[0] !== segment || segments.length === 1)
          throw new Error('only the oldest segments can be dropped');
        segments.shift();
        await segment.file.close();
        await directory.remove(segmentName(segment.number));
      }
      await directory.sync();
    },
    async close() {
      const ready = await spare?.catch(() => null);
      if (ready != null) {
        await ready.file.close();
        await directory.remove(SPARE_NAME);
      }
      for (const segment of segments) await segment.file.close();
    },
  };
}
