/**
 * A backup in one file: a line of JSON that says what it is, the database's tar through gzip, a line with the checksum of all before it.
 *
 * The tar is that of base-backup.ts, so a backup needs no other program to be made or read. The position that it has exactly stands in the tar's trailer, for it is known at the end only; the header has the one at the
 * beginning. A file has its name only when it is complete and durable, and nothing of it is used before its checksum has been found right.
 */
import { createHash } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline as pipe, Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import { CopyError } from '../../../ports/copy.ts';
import { counted } from '../../counted.ts';
import { openFile, syncPath } from '../../file-system.ts';
import type { DurablePosition } from '../copy/chosen.ts';
import { decodeDirectoryState, encodeDirectoryState } from '../directory-state.ts';
import type { BackupSource } from './base-backup.ts';
import { unpackBackup } from './unpack.ts';

/** `position`, `configuration`: when the backup began; it has these at least. */
export interface BackupHeader extends DurablePosition {
  readonly group: string;
  /** Of the cluster that it was taken from. */
  readonly cluster: string;
  /** Such as `18.4`. */
  readonly postgresVersion: string;
  /** In ISO 8601. */
  readonly takenAt: string;
}

export interface WriteBackupOptions {
  readonly source: BackupSource;
  /** The file. One that is there is replaced when the new one is complete. */
  readonly out: string;
  readonly header: Pick<BackupHeader, 'group' | 'cluster' | 'postgresVersion'>;
  /** Bytes of the database read so far, and how many there are in all, about. */
  readonly onProgress?: (bytes: number, bytesTotal: number) => void;
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
  /** As in unpackBackup. */
  readonly directory: string;
  readonly majorVersion: number;
  /** Bytes of the database unpacked so far. */
  readonly onProgress?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

/** `durable`: exactly what the database in it has. */
export interface UnpackedBackup {
  readonly header: BackupHeader;
  readonly durable: DurablePosition;
}

const headerBytesMax = 1024 * 1024;
const usualHeaderBytes = 16 * 1024;
/** The last line: the SHA-256 of all before it, padded. */
const sealBytes = 96;

const format = 'barista-backup-2';
/** `state`: as in directory-state.ts. */
const headerShape = z.object({
  format: z.literal(format),
  group: z.string(),
  cluster: z.string(),
  state: z.unknown(),
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

/** Begins to make a backup, for whoever reads it. @throws CopyError */
export async function openBackup(
  options: Pick<WriteBackupOptions, 'source' | 'header' | 'onProgress'>,
): Promise<OpenBackup> {
  const { stream, bytesTotal, begun } = await options.source.open();
  const header: BackupHeader = { ...options.header, ...begun, takenAt: new Date().toISOString() };
  const seal = new Seal(Buffer.from(`${headerText(header)}\n`));
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

function headerText({
  group,
  cluster,
  position,
  configuration,
  postgresVersion,
  takenAt,
}: BackupHeader): string {
  const state: unknown = JSON.parse(
    encodeDirectoryState({ role: { kind: 'standby' }, position, configuration }),
  );
  return JSON.stringify({ format, group, cluster, postgresVersion, takenAt, state });
}

/** @throws CopyError, the file system's error, or the signal's reason */
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

/** Verifies the whole file, then unpacks it. @throws CopyError with what is wrong, or the signal's reason */
export async function readBackup(options: ReadBackupOptions): Promise<UnpackedBackup> {
  const { file, signal } = options;
  const { header, from, to } = await verifyBackup(file, signal);
  const opened = await openFile(file, constants.O_RDONLY);
  const packed = opened.createReadStream({ start: from, end: to - 1 });
  const stream = createGunzip();
  packed.once('error', (error) => stream.destroy(error));
  stream.once('close', () => packed.destroy());
  const trailer = await unpackBackup({ ...options, stream: packed.pipe(stream) });
  const { position, configuration } = decodeDirectoryState(trailer.state, `the position in ${file}`);
  return { header, durable: { position, configuration } };
}

export interface VerifiedBackup {
  readonly header: BackupHeader;
  /** The packed tar is bytes [from, to) of the file. */
  readonly from: number;
  readonly to: number;
}

export interface BackupEnds {
  readonly header: BackupHeader;
  /** Of the file. */
  readonly bytes: number;
}

/** Looks at the first and the last line only: null if it is no backup, or was cut off. What lies between nobody has looked at. @throws the file system's error */
export async function readBackupEnds(file: string): Promise<BackupEnds | null> {
  const { size } = await stat(file);
  const found = await readEnds(file, size);
  return found === null || found.sha256 === null ? null : { header: found.header, bytes: size };
}

interface Ends {
  readonly header: BackupHeader;
  /** Of the first byte behind the first line. */
  readonly from: number;
  /** What the last line says; null: there is none. */
  readonly sha256: string | null;
}

/** Null: the first line is none of a backup. */
async function readEnds(file: string, size: number): Promise<Ends | null> {
  let head = await readPart(file, 0, Math.min(size, usualHeaderBytes));
  if (!head.includes(0x0a)) head = await readPart(file, 0, Math.min(size, headerBytesMax));
  const newline = head.indexOf(0x0a);
  const header = newline < 0 ? null : parseHeader(head.toString('utf8', 0, newline));
  if (header === null) return null;
  const to = size - sealBytes;
  const tail = (await readPart(file, Math.max(0, to), size)).toString('latin1');
  const sha256 = /^\nsha256 ([0-9a-f]{64}) *\n$/.exec(tail)?.[1] ?? null;
  return { header, from: newline + 1, sha256: to <= newline ? null : sha256 };
}

/** Reads the file from end to end. @throws CopyError `copyInvalid` with what is wrong */
export async function verifyBackup(file: string, signal?: AbortSignal): Promise<VerifiedBackup> {
  const { size } = await stat(file);
  const to = size - sealBytes;
  const ends = await readEnds(file, size);
  if (ends === null) throw invalid(`${file} is not a backup of Barista, or its beginning is damaged`);
  if (ends.sha256 === null) throw invalid(`${file} was cut off: its last line is missing`);
  const hash = createHash('sha256');
  const opened = await openFile(file, constants.O_RDONLY);
  for await (const chunk of opened.createReadStream({ start: 0, end: to - 1, highWaterMark: 1024 * 1024 })) {
    signal?.throwIfAborted();
    hash.update(chunk as Buffer);
  }
  if (hash.digest('hex') !== ends.sha256) throw invalid(`${file} was altered: its checksum is wrong`);
  return { header: ends.header, from: ends.from, to };
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
  const handle = await openFile(path, constants.O_RDONLY);
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
    const { state, group, cluster, postgresVersion, takenAt } = headerShape.parse(JSON.parse(text));
    const { position, configuration } = decodeDirectoryState(JSON.stringify(state), 'the header');
    return { group, cluster, postgresVersion, takenAt, position, configuration };
  } catch {
    return null;
  }
}

function invalid(message: string): CopyError {
  return new CopyError('copyInvalid', message);
}
