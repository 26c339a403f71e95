/**
 * A backup in one file: a line of JSON that says what it is, the copy's tar through gzip, a line with the checksum of all before it.
 *
 * The copy is that of snapshot-source.ts, so a backup needs no other program to be made or read. Its exact application pointer is a row in the
 * database itself; `pointerAtLeast` is where the pointer was before the copy began. A file has its name only when it is complete and
 * durable, and nothing of it is used before its checksum has been found right.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline as pipe, Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import type { Configuration, Slot } from '../../../multipaxos/types.ts';
import { SnapshotError } from '../../../ports/snapshot.ts';
import type { SnapshotSource } from '../../../ports/snapshot.ts';
import { counted } from '../../counted.ts';
import { syncPath } from '../../file-system.ts';
import type { CopyOwner } from './directories.ts';
import { receiveSnapshot } from './receive-snapshot.ts';

export interface BackupHeader {
  readonly format: 'barista-backup-1';
  readonly group: string;
  /** Of the cluster that it was taken from. */
  readonly cluster: string;
  readonly pointerAtLeast: Slot;
  /** The newest at `pointerAtLeast`; for people: whoever restores it founds a cluster of its own. */
  readonly configuration: Configuration | null;
  /** Such as `18.4`. */
  readonly postgresVersion: string;
  readonly takenAt: string;
}

export interface WriteBackupOptions {
  readonly source: SnapshotSource;
  /** The file. One that is there is replaced when the new one is complete. */
  readonly out: string;
  readonly header: Omit<BackupHeader, 'format' | 'takenAt'>;
  /** Bytes of the database copied so far, and how many there are in all, about. */
  readonly onProgress?: (bytes: number, bytesTotal: number | null) => void;
  readonly signal?: AbortSignal;
}

export interface WrittenBackup {
  readonly header: BackupHeader;
  /** Of the file. */
  readonly bytes: number;
  readonly sha256: string;
}

export interface ReadBackupOptions {
  readonly file: string;
  /** `incoming`: as in receiveSnapshot. */
  readonly directory: string;
  readonly majorVersion: number;
  /** Of the group that is founded on it, not of the one that it was taken from. */
  readonly owner: CopyOwner;
  /** Bytes of the database unpacked so far. */
  readonly onProgress?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

const headerBytesMax = 1024 * 1024;
/** The last line: the SHA-256 of all before it, padded. */
const sealBytes = 96;

const headerShape = z.object({
  format: z.literal('barista-backup-1'),
  group: z.string(),
  cluster: z.string(),
  pointerAtLeast: z.number(),
  configuration: z.unknown(),
  postgresVersion: z.string(),
  takenAt: z.string(),
});

export interface OpenBackup {
  readonly header: BackupHeader;
  /** The bytes of the file. To end it early, destroy it: the copy ends, too. */
  readonly stream: Readable;
  /** Of what has been read of it. */
  readonly sealed: () => { readonly bytes: number; readonly sha256: string };
}

/** Begins to make a backup, for whoever reads it. @throws SnapshotError */
export async function openBackup(
  options: Pick<WriteBackupOptions, 'source' | 'header' | 'onProgress'>,
): Promise<OpenBackup> {
  const header: BackupHeader = {
    format: 'barista-backup-1',
    ...options.header,
    takenAt: new Date().toISOString(),
  };
  const { stream, bytesTotal } = await options.source.open();
  const seal = new Seal(Buffer.from(`${JSON.stringify(header)}\n`));
  pipe(
    stream,
    counted((bytes) => options.onProgress?.(bytes, bytesTotal)),
    // What is easy to squeeze, such as zeros, goes at the lowest level already, and the replica goes on serving.
    createGzip({ level: 1 }),
    seal,
    // Whoever reads the seal is told of an error there.
    () => undefined,
  );
  return { header, stream: seal, sealed: () => ({ bytes: seal.bytes, sha256: seal.sha256 }) };
}

/** @throws SnapshotError, the file system's error, or the signal's reason */
export async function writeBackup(options: WriteBackupOptions): Promise<WrittenBackup> {
  const { out, signal } = options;
  const partial = `${out}.partial`;
  const { header, stream, sealed } = await openBackup(options);
  try {
    await pipeline(stream, createWriteStream(partial, { mode: 0o600 }), {
      signal: signal ?? new AbortController().signal,
    });
    await syncPath(partial);
    await rename(partial, out);
    await syncPath(dirname(out));
    return { header, ...sealed() };
  } catch (error) {
    stream.destroy();
    await rm(partial, { force: true });
    signal?.throwIfAborted();
    throw error;
  }
}

/** Verifies the whole file, then unpacks it like a copy from a peer. @throws SnapshotError with what is wrong, or the signal's reason */
export async function readBackup(options: ReadBackupOptions): Promise<BackupHeader> {
  const { file, directory, majorVersion, owner, onProgress, signal } = options;
  const { header, from, to } = await verifyBackup(file, signal);
  const packed = createReadStream(file, { start: from, end: to - 1 });
  const stream = createGunzip();
  packed.once('error', (error) => stream.destroy(error));
  stream.once('close', () => packed.destroy());
  await receiveSnapshot({
    stream: packed.pipe(stream),
    directory,
    majorVersion,
    owner,
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(signal === undefined ? {} : { signal }),
  });
  return header;
}

export interface VerifiedBackup {
  readonly header: BackupHeader;
  /** The packed tar is bytes [from, to) of the file. */
  readonly from: number;
  readonly to: number;
}

/** Reads the file from end to end. @throws SnapshotError `snapshotInvalid` with what is wrong */
export async function verifyBackup(file: string, signal?: AbortSignal): Promise<VerifiedBackup> {
  const { size } = await stat(file);
  const to = size - sealBytes;
  const head = await readPart(file, 0, Math.min(size, headerBytesMax));
  const newline = head.indexOf(0x0a);
  const header = newline < 0 ? null : parseHeader(head.toString('utf8', 0, newline));
  if (header === null) throw invalid(`${file} is not a backup of Barista, or its beginning is damaged`);
  const found = /^\nsha256 ([0-9a-f]{64}) *\n$/.exec(
    (await readPart(file, Math.max(0, to), size)).toString('latin1'),
  );
  if (found === null || to <= newline) throw invalid(`${file} was cut off: its last line is missing`);
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { end: to - 1, highWaterMark: 1024 * 1024 })) {
    signal?.throwIfAborted();
    hash.update(chunk as Buffer);
  }
  if (hash.digest('hex') !== found[1]) throw invalid(`${file} was altered: its checksum is wrong`);
  return { header, from: newline + 1, to };
}

/** Puts the header before what passes, and the line with the checksum after it. */
class Seal extends Transform {
  private readonly hash = createHash('sha256');
  bytes = 0;
  sha256 = '';

  constructor(header: Buffer) {
    super();
    this.pass(header);
  }

  private pass(chunk: Buffer): void {
    this.hash.update(chunk);
    this.bytes += chunk.length;
    this.push(chunk);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.pass(chunk);
    callback();
  }

  override _flush(callback: () => void): void {
    this.sha256 = this.hash.digest('hex');
    this.push(`${`\nsha256 ${this.sha256}`.padEnd(sealBytes - 1)}\n`);
    this.bytes += sealBytes;
    callback();
  }
}

async function readPart(path: string, from: number, to: number): Promise<Buffer> {
  const handle = await open(path, 'r');
  try {
    const part = Buffer.alloc(to - from);
    const { bytesRead } = await handle.read(part, 0, part.length, from);
    return part.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

function parseHeader(text: string): BackupHeader | null {
  try {
    const parsed = headerShape.safeParse(JSON.parse(text));
    return parsed.success ? (parsed.data as BackupHeader) : null;
  } catch {
    return null;
  }
}

function invalid(message: string): SnapshotError {
  return new SnapshotError('snapshotInvalid', message);
}
