/**
 * Unpacks a backup's tar into a directory, and makes it durable.
 *
 * Invariants: nothing is written outside `directory`; it resolves only if every byte before the trailer was read and is on the disk; after any failure, and after being told to stop at any moment, nothing is
 * left. What belongs to the source alone, such as its configuration, is not taken over.
 */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { CopyError, type CopyErrorCode } from '../../../ports/copy.ts';
import { makeDirectories, mkdir, open, rm, syncPath } from '../account-files.ts';
import { TarError } from './tar-header.ts';
import type { TarHeader } from './tar-header.ts';
import { readTar } from './tar-reader.ts';
import { parseTrailer, trailerBytesMax, trailerName } from './trailer.ts';
import type { Trailer } from './trailer.ts';

export interface UnpackOptions {
  readonly stream: Readable;
  /** Will hold `data`. Whatever is there is removed first. */
  readonly directory: string;
  /** Of the programs that are to run it: a backup of another version is refused as soon as it shows. */
  readonly majorVersion: number;
  /** Bytes unpacked so far. */
  readonly onProgress?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

/** The source's own; PostgreSQL itself leaves out most. */
const notTaken = new Set([
  'postgresql.conf',
  'postgresql.auto.conf',
  'pg_hba.conf',
  'pg_ident.conf',
  'postmaster.pid',
  'postmaster.opts',
  'standby.signal',
  'recovery.signal',
]);
/** Files that are being made durable at a time: one after the other, a thousand small ones would wait for the disk a thousand times. */
const syncingMax = 32;
/** A backup without one of these cannot be started. */
const needed = ['PG_VERSION', 'backup_label', 'global/pg_control'];

/** @throws CopyError, or the signal's reason */
export async function unpackBackup(options: UnpackOptions): Promise<Trailer> {
  const { stream, directory, signal } = options;
  const abort = (): void => void stream.destroy(abortError(signal));
  signal?.addEventListener('abort', abort, { once: true });
  // It may fail before it is read, or after: whoever reads is told.
  stream.on('error', () => undefined);
  try {
    signal?.throwIfAborted();
    await rm(directory, { recursive: true, force: true });
    const data = join(directory, 'data');
    await makeDirectories(data, 0o700);
    const unpacking = new Unpacking(data, options);
    const trailer = await unpacking.run();
    await unpacking.sync();
    await syncPath(directory);
    signal?.throwIfAborted();
    return trailer;
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    signal?.throwIfAborted();
    throw toUnpackError(error);
  } finally {
    signal?.removeEventListener('abort', abort);
    stream.destroy();
  }
}

class Unpacking {
  private readonly data: string;
  private readonly options: UnpackOptions;
  private readonly hash = createHash('sha256');
  private readonly directories = new Set<string>();
  private readonly files = new Set<string>();
  private hashed = 0;
  private received = 0;
  /** Of the entry that is being read: where its data goes. */
  private file: FileHandle | null = null;
  private gathered: Buffer[] | null = null;
  /** Never fail; the first failure is kept beside them. */
  private readonly syncing = new Set<Promise<void>>();
  private syncFailure: Error | null = null;

  constructor(data: string, options: UnpackOptions) {
    this.data = data;
    this.options = options;
    this.directories.add(data);
  }

  async run(): Promise<Trailer> {
    let current: TarHeader | null = null;
    let trailer: Trailer | null = null;
    try {
      for await (const piece of readTar(this.options.stream)) {
        if (trailer !== null) throw new TarError('there are files after the trailer');
        if (piece.kind === 'header') {
          current = piece.header;
          await this.begin(current);
        }
        if (piece.kind === 'data') await this.write(piece.raw);
        if (piece.kind === 'done' && current !== null) trailer = await this.finish(current);
        else if (piece.kind !== 'done') this.count(piece.raw, current?.path !== trailerName);
      }
    } finally {
      await this.file?.close();
      await Promise.all(this.syncing);
    }
    this.throwSyncFailure();
    if (trailer === null) throw new TarError('the backup has no trailer: it was not finished');
    const missing = needed.filter((path) => !this.files.has(path));
    if (missing.length > 0) throw new TarError(`the backup lacks ${missing.join(' and ')}`);
    return trailer;
  }

  private count(raw: Buffer, summed: boolean): void {
    this.received += raw.length;
    this.options.onProgress?.(this.received);
    if (!summed) return;
    this.hash.update(raw);
    this.hashed += raw.length;
  }

  private async begin(header: TarHeader): Promise<void> {
    this.gathered = null;
    if (header.path === trailerName || header.path === 'PG_VERSION') {
      if (header.size > trailerBytesMax) throw new TarError(`${header.path} is too large`);
      this.gathered = [];
    }
    if (header.path === trailerName || notTaken.has(header.path)) return;
    const path = join(this.data, header.path);
    if (header.kind === 'directory') {
      await this.makeDirectory(path);
      return;
    }
    await this.makeDirectory(dirname(path));
    this.files.add(header.path);
    // It must not be there: a name that comes twice is an error.
    this.file = await open(path, 'wx', 0o600);
  }

  private async makeDirectory(path: string): Promise<void> {
    if (this.directories.has(path)) return;
    await this.makeDirectory(dirname(path));
    await mkdir(path);
    this.directories.add(path);
  }

  private async write(raw: Buffer): Promise<void> {
    this.gathered?.push(raw);
    if (this.file !== null) await writeAll(this.file, raw);
  }

  private async finish(header: TarHeader): Promise<Trailer | null> {
    const { file } = this;
    this.file = null;
    if (file !== null) await this.beginSync(file);
    const text = this.gathered === null ? '' : Buffer.concat(this.gathered).toString('utf8');
    if (header.path === 'PG_VERSION') this.checkVersion(text.trim());
    return header.path === trailerName ? this.checkTrailer(text) : null;
  }

  /** Takes the file over. Resolves when the next one may come. */
  private async beginSync(file: FileHandle): Promise<void> {
    const synced = syncAndClose(file)
      .catch((error: unknown) => {
        this.syncFailure ??= error instanceof Error ? error : new Error(String(error));
      })
      .then(() => void this.syncing.delete(synced));
    this.syncing.add(synced);
    if (this.syncing.size >= syncingMax) await Promise.race(this.syncing);
    this.throwSyncFailure();
  }

  private throwSyncFailure(): void {
    if (this.syncFailure !== null) throw this.syncFailure;
  }

  private checkVersion(version: string): void {
    if (Number(version) === this.options.majorVersion) return;
    throw new TarError(
      `the backup is of PostgreSQL ${version}, but this replica runs PostgreSQL ${this.options.majorVersion}`,
    );
  }

  private checkTrailer(text: string): Trailer {
    const trailer = parseTrailer(text);
    if (trailer === null) throw new TarError('the trailer of the backup cannot be read');
    if (trailer.bytes !== this.hashed) {
      throw new TarError(`the backup has ${this.hashed} bytes where its source sent ${trailer.bytes}`);
    }
    if (trailer.sha256 !== this.hash.update(trailer.state).digest('hex')) {
      throw new TarError('the checksum of the backup is wrong: it was altered');
    }
    return trailer;
  }

  /** The names in every directory; the files themselves are durable already. */
  async sync(): Promise<void> {
    for (const directory of this.directories) {
      this.options.signal?.throwIfAborted();
      await syncPath(directory);
    }
  }
}

async function syncAndClose(file: FileHandle): Promise<void> {
  try {
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, raw: Buffer): Promise<void> {
  for (let at = 0; at < raw.length; ) at += (await file.write(raw, at, raw.length - at)).bytesWritten;
}

function abortError(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('the backup was given up');
}

const noSpace = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

function toUnpackError(error: unknown): CopyError {
  if (error instanceof CopyError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const code: CopyErrorCode = error instanceof TarError ? 'copyInvalid' : 'transferFailed';
  const system = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (noSpace.has(system)) {
    return new CopyError('noSpace', `there is no space for the backup: ${message}`, { cause: error });
  }
  return new CopyError(code, message, { cause: error });
}
