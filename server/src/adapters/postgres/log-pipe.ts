/**
 * The way of PostgreSQL's messages to this process: a named pipe that can be read up to its end at any moment.
 *
 * Responsible for: the pipe, its reading in the background, and `drain`, after which everything that any process of PostgreSQL had written before the call has been handed on. That is how an answer is
 * kept back when a commit's wait was ended early: PostgreSQL writes so before the transaction becomes visible. Does not understand a word of it.
 *
 * How `drain` knows the end without asking the pipe whether it is empty (which costs an exception each time): it writes a mark of its own, a zero byte, which no message holds, and reads until it comes.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface LogPipe {
  /** To be given to PostgreSQL as its standard output and error. */
  readonly fd: number;
  /** Hands on all that was written before this call. Some microseconds if there is nothing. */
  drain(): void;
  /** PostgreSQL has been given its end: this process needs it no more. */
  handedOver(): void;
  /** Drains, and lets go of the pipe. */
  close(): void;
}

const mark = 0;
const markBytes = Buffer.from([mark]);
const bufferBytes = 64 * 1024;

/** `path` is where the pipe is made: nothing stays there. `onText` gets bytes as they come; a message may come in pieces. @throws Error if no pipe can be made there */
export async function openLogPipe(path: string, onText: (chunk: Buffer) => void): Promise<LogPipe> {
  await rm(path, { force: true });
  await run('mkfifo', ['-m', '600', path]);
  // Reading does not wait for a writer, nor the mark for a reader that has fallen behind; PostgreSQL's own end waits, as any program's does.
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const markEnd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  const writeEnd = openSync(path, constants.O_WRONLY);
  // A name would only be met by those who copy or search the directory, and a reader of a pipe waits for ever.
  await rm(path);
  return new Pipe({ readEnd, markEnd, writeEnd }, onText);
}

class Pipe implements LogPipe {
  readonly fd: number;
  private readonly readEnd: number;
  private readonly markEnd: number;
  private readonly onText: (chunk: Buffer) => void;
  private readonly buffer = Buffer.alloc(bufferBytes);
  private readonly background: Socket;
  private ownsWriteEnd = true;
  private closed = false;

  constructor(ends: { readEnd: number; markEnd: number; writeEnd: number }, onText: (chunk: Buffer) => void) {
    this.fd = ends.writeEnd;
    this.readEnd = ends.readEnd;
    this.markEnd = ends.markEnd;
    this.onText = onText;
    // What comes while nobody drains; it owns the descriptor, and closes it.
    this.background = new Socket({ fd: ends.readEnd, readable: true, writable: false });
    this.background.on('data', (chunk: Buffer) => this.handOn(chunk));
    this.background.on('error', () => undefined);
    this.background.unref();
  }

  drain(): void {
    if (this.closed) return;
    while (!this.writeMark()) this.readSome();
    while (!this.readSome());
  }

  /** False if the pipe is full: something must be read first. */
  private writeMark(): boolean {
    try {
      return writeSync(this.markEnd, markBytes) === 1;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
      throw error;
    }
  }

  /** True if the mark was among it. */
  private readSome(): boolean {
    const bytes = readSync(this.readEnd, this.buffer, 0, bufferBytes, null);
    if (bytes === 1 && this.buffer[0] === mark) return true;
    return this.handOn(Buffer.from(this.buffer.subarray(0, bytes)));
  }

  private handOn(chunk: Buffer): boolean {
    const marked = chunk.includes(mark);
    const text = marked ? Buffer.from(chunk.filter((byte) => byte !== mark)) : chunk;
    if (text.length > 0) this.onText(text);
    return marked;
  }

  handedOver(): void {
    if (!this.ownsWriteEnd) return;
    this.ownsWriteEnd = false;
    closeSync(this.fd);
  }

  close(): void {
    if (this.closed) return;
    this.drain();
    this.closed = true;
    this.handedOver();
    closeSync(this.markEnd);
    this.background.destroy();
  }
}
