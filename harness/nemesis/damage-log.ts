/**
 * Damages the segment log of a replica that is down, in the ways in which disks do.
 *
 * Invariant: a torn tail takes nothing away that was ever durable: it is what a write leaves that nobody was told about. A flipped byte is always in
 * a record that was durable for certain, so a replica that comes up as if nothing had happened is wrong.
 */
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  decodeSegmentHeader,
  FRAME_HEADER_BYTES,
  readFrameHeader,
  roundUpToSector,
  SECTOR_BYTES,
  segmentOfName,
  segmentSeed,
  writeFrameHeader,
} from '../../server/src/adapters/segment-log/layout.ts';

interface Frame {
  readonly at: number;
  readonly payloadBytes: number;
  readonly records: number;
}

interface SegmentImage {
  readonly path: string;
  readonly bytes: Buffer;
  readonly seed: number;
  readonly frames: readonly Frame[];
  readonly nextSequence: number;
  /** Where the next frame would be written. */
  readonly end: number;
}

/** The newest segment. @throws Error if it is not understood */
async function readNewest(directory: string): Promise<SegmentImage> {
  const names = (await readdir(directory)).filter((name) => segmentOfName(name) !== null).sort();
  const name = names.at(-1);
  if (name === undefined) throw new Error(`no segment in ${directory}`);
  const path = join(directory, name);
  const bytes = await readFile(path);
  const verdict = decodeSegmentHeader(bytes);
  if (verdict.kind !== 'ok') throw new Error(`${path}: ${verdict.reason}`);
  const seed = segmentSeed(verdict.header.logId, verdict.header.segment);
  const frames: Frame[] = [];
  let end = verdict.headerBytes;
  let nextSequence = verdict.header.firstSequence;
  for (;;) {
    const header = readFrameHeader(bytes, end, seed);
    if (header === null || header.sequence !== nextSequence) break;
    frames.push({ at: end, payloadBytes: header.payloadBytes, records: header.records });
    end += roundUpToSector(FRAME_HEADER_BYTES + header.payloadBytes);
    nextSequence++;
  }
  return { path, bytes, seed, frames, nextSequence, end };
}

async function overwrite(path: string, offset: number, bytes: Buffer): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.write(bytes, 0, bytes.length, offset);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Writes the beginning of a frame behind the last one, as if the machine had died in the middle. Returns where. */
export async function tearTail(directory: string): Promise<string> {
  const { path, bytes, seed, nextSequence, end } = await readNewest(directory);
  const torn = Buffer.alloc(3 * SECTOR_BYTES);
  if (end + torn.length > bytes.length) throw new Error(`${path} has no room behind its last frame`);
  const header = { sequence: nextSequence, payloadBytes: 4 * SECTOR_BYTES, records: 2 };
  // Checksums cover the place, so it has to be made in place.
  const image = Buffer.from(bytes.subarray(0, end + torn.length));
  writeFrameHeader(image, end, header, seed, end);
  image.copy(torn, 0, end, end + FRAME_HEADER_BYTES);
  torn.fill(0xa5, FRAME_HEADER_BYTES, 2 * SECTOR_BYTES);
  await overwrite(path, end, torn);
  return `${path} at ${end}`;
}

/** Flips one bit of a record that others follow. `choice` in [0, 1). Returns where. @throws Error if there is none */
export async function flipByte(directory: string, choice: number): Promise<string> {
  const { path, bytes, frames } = await readNewest(directory);
  const durable = frames.slice(0, -1).filter(({ records }) => records > 0);
  const frame = durable[Math.floor(choice * durable.length)];
  if (frame === undefined) throw new Error(`${path} has no frame that another one follows`);
  const at = frame.at + FRAME_HEADER_BYTES + (Math.floor(choice * 1e6) % frame.payloadBytes);
  await overwrite(path, at, Buffer.from([bytes.readUInt8(at) ^ 0x10]));
  return `${path} at ${at}`;
}
