/**
 * The target's files while a copy is received: what they hold is told to the source, and what comes back is written to them.
 *
 * Responsible for: evidence of the own blocks, in the order in which files were announced; writing, lengths, and making every file durable, also those of which nothing was sent: an earlier life may have left what
 * it wrote to them in the system's cache. Knows no directories.
 * Invariants: memory is bounded by the files that the source announces ahead; a file is let go of when it is durable.
 */
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { open } from '../account-files.ts';
import { segmentBytes } from '../../../wal/lsn.ts';
import { CopyError } from '../../../ports/copy.ts';
import { BlockReader } from './block-reader.ts';
import type { Conversation } from './conversation.ts';
import { type Evidence, evidenceOf } from './evidence.ts';
import { classOf, type FileClass } from './file-class.ts';
import { pageBytes } from './page.ts';

/** Of one message: half a megabyte of evidence at the most would be 32,000 of them. */
const evidenceMax = 1024;
const announcedMax = 1024;
/** The disk's other users, such as the replica's log, wait behind them. */
const syncingMax = 2;

interface IncomingFile {
  readonly number: number;
  readonly path: string;
  readonly class: FileClass;
  /** As the source announced it. */
  readonly bytes: number;
  readonly opened: Promise<{ readonly handle: FileHandle; readonly ownBytes: number }>;
  /** All evidence of it has been read; its last message may be on the way. */
  isRead: boolean;
}

export class TargetFiles {
  private readonly dataDir: string;
  private readonly conversation: Conversation;
  private readonly byPosition: boolean;
  private readonly open = new Map<number, IncomingFile>();
  private readonly queue: IncomingFile[] = [];
  private wakeTeller: () => void = () => undefined;
  private ended = false;
  private readonly syncing = new Set<Promise<void>>();
  private syncFailure: Error | null = null;
  /** That were announced. */
  files = 0;
  /** That came. */
  blocks = 0;
  /** Of files that are complete. */
  bytesCompared = 0;

  constructor(dataDir: string, conversation: Conversation, byPosition: boolean) {
    this.dataDir = dataDir;
    this.conversation = conversation;
    this.byPosition = byPosition;
  }

  /** `path`: relative to the data directory; what is there is a file, or nothing. */
  announce(number: number, path: string, bytes: number): void {
    if (number !== this.files || this.open.size >= announcedMax) {
      throw new CopyError('copyInvalid', `file ${number} was announced out of order`);
    }
    this.files += 1;
    const opened = openOrMake(join(this.dataDir, path));
    // Whoever waits for it is told.
    opened.catch(() => undefined);
    const file = { number, path, class: classOf(path), bytes, opened, isRead: false };
    this.open.set(number, file);
    this.queue.push(file);
    this.wakeTeller();
  }

  /** Tells the source what is here, file by file, until `end`. @throws the file system's error; CopyError */
  async tell(): Promise<void> {
    for (;;) {
      const file = this.queue.shift();
      if (file !== undefined) {
        await this.tellOf(file);
      } else if (this.ended) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.wakeTeller = resolve;
        });
      }
    }
  }

  /** Nothing more is announced. */
  end(): void {
    this.ended = true;
    this.wakeTeller();
  }

  private async tellOf(file: IncomingFile): Promise<void> {
    const { handle, ownBytes } = await file.opened;
    const reader = new BlockReader(handle, Math.min(ownBytes, file.bytes));
    let gathered: Evidence[] = [];
    const send = async (last: boolean): Promise<void> => {
      await this.conversation.send({ kind: 'have', file: file.number, last, evidence: gathered });
      gathered = [];
    };
    let block = 0;
    for (let chunk = await reader.read(); chunk !== null; chunk = await reader.read()) {
      for (let at = 0; at < chunk.length; at += pageBytes, block += 1) {
        const length = Math.min(pageBytes, chunk.length - at);
        gathered.push(
          evidenceOf(chunk, at, { length, block, file: file.class, byPosition: this.byPosition }),
        );
      }
      if (gathered.length >= evidenceMax) await send(false);
    }
    file.isRead = true;
    await send(true);
  }

  async write(number: number, block: number, data: Buffer): Promise<void> {
    const file = this.fileOf(number);
    const at = block * pageBytes;
    if (at + data.length > Math.ceil(file.bytes / pageBytes) * pageBytes || data.length === 0) {
      throw new CopyError('copyInvalid', `blocks of ${file.path} came that it does not have`);
    }
    const { handle } = await file.opened;
    for (let done = 0; done < data.length; ) {
      done += (await handle.write(data, done, data.length - done, at + done)).bytesWritten;
    }
    this.blocks += Math.ceil(data.length / pageBytes);
  }

  /** Resolves when the next file may be completed: this one is made durable meanwhile. */
  async complete(number: number, bytes: number): Promise<void> {
    const file = this.fileOf(number);
    if (bytes > file.bytes || !file.isRead) {
      throw new CopyError(
        'copyInvalid',
        `the end of ${file.path} came too early, or lies beyond what was announced`,
      );
    }
    this.open.delete(number);
    this.bytesCompared += bytes;
    const finished = this.finish(file, bytes)
      .catch((error: unknown) => {
        this.syncFailure ??= error instanceof Error ? error : new Error(String(error));
      })
      .then(() => void this.syncing.delete(finished));
    this.syncing.add(finished);
    if (this.syncing.size >= syncingMax) await Promise.race(this.syncing);
    this.throwFailure();
  }

  private async finish(file: IncomingFile, bytes: number): Promise<void> {
    const { handle, ownBytes } = await file.opened;
    try {
      // Zeros at its end were not sent.
      if (ownBytes !== bytes) await handle.truncate(bytes);
      // PostgreSQL wants its WAL in files of one size.
      if (file.class.kind === 'wal') await handle.truncate(segmentBytes);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }

  /** Resolves when every file is durable. @throws CopyError if one was announced and not completed */
  async settle(): Promise<void> {
    await Promise.all(this.syncing);
    this.throwFailure();
    if (this.open.size > 0)
      throw new CopyError('copyInvalid', `${this.open.size} files of the copy are not complete`);
  }

  /** Lets go of all files, whatever has become of them. Nothing is told any more. */
  async close(): Promise<void> {
    await Promise.all(this.syncing);
    for (const file of this.open.values())
      await file.opened.then(({ handle }) => handle.close()).catch(() => undefined);
    this.open.clear();
  }

  private fileOf(number: number): IncomingFile {
    const file = this.open.get(number);
    if (file === undefined) throw new CopyError('copyInvalid', `file ${number} was not announced`);
    return file;
  }

  private throwFailure(): void {
    if (this.syncFailure !== null) throw this.syncFailure;
  }
}

async function openOrMake(path: string): Promise<{ readonly handle: FileHandle; readonly ownBytes: number }> {
  const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  const { size } = await handle.stat();
  return { handle, ownBytes: size };
}
