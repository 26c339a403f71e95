/**
 * Records trace events in files: one JSON object a line, `trace-<run>-<number>.ndjson`.
 *
 * Responsible for: batching, bounded memory, bounded disk by rotation. Does not read traces back.
 * Invariants: `write` never blocks and never throws; an event is in the file whole or not at all, in the order of the calls; what
 * cannot be taken is counted. A write that fails drops its batch, and the next one is tried all the same.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories } from '../file-system.ts';
import type { TraceSink } from '../../ports/trace-sink.ts';

export interface TraceFileOptions {
  readonly dir: string;
  /** Identifies the run, as in the events. */
  readonly run: string;
  /** A file that has reached this size is followed by a new one. */
  readonly fileBytesMax: number;
  /** Older files, of earlier runs too, are deleted when all take more than so many full ones. Of smaller ones, as each run leaves one, there may be more, but no more than 1,000. At least 1. */
  readonly filesMax: number;
  /** What may wait to be written. */
  readonly queueBytesMax?: number;
  /** Told once for each new kind of error. */
  readonly onError?: (error: Error) => void;
}

export interface TraceFile extends TraceSink {
  /** Resolves when all that was written before this call has reached the file, or has been dropped. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const queueBytesDefault = 16 * 1024 * 1024;
const filesEverMax = 1000;
const namePattern = /^trace-.+-\d{6}\.ndjson$/;

/** @throws if the directory cannot be made */
export async function openTraceFile(options: TraceFileOptions): Promise<TraceFile> {
  await makeDirectories(options.dir);
  const files = rotation(options);
  const queueBytesMax = options.queueBytesMax ?? queueBytesDefault;
  let waiting: string[] = [];
  let waitingBytes = 0;
  let dropped = 0;
  let writing: Promise<void> | null = null;
  let closed = false;
  let lastError = '';

  const report = (error: Error): void => {
    if (error.message !== lastError) options.onError?.(error);
    lastError = error.message;
  };
  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      waitingBytes = 0;
      try {
        await files.append(lines);
        lastError = '';
      } catch (error) {
        dropped += lines.length;
        report(error as Error);
      }
    }
    writing = null;
  };
  const flush = async (): Promise<void> => {
    if (writing !== null) await writing;
  };

  return {
    write(event) {
      const line = `${JSON.stringify(event)}\n`;
      if (closed || waitingBytes + line.length > queueBytesMax) {
        dropped += 1;
        return;
      }
      waiting.push(line);
      waitingBytes += line.length;
      // Deferred, so that the events of one turn of the event loop make one write.
      writing ??= new Promise<void>((resolve) => setImmediate(resolve)).then(writeAll);
    },
    get dropped() {
      return dropped;
    },
    flush,
    async close() {
      closed = true;
      await flush();
      await files.close();
    },
  };
}

/** A run's name becomes part of a file's name. */
export function traceFileName(run: string, number: number): string {
  const safeRun = /^[\w-]{1,64}$/.test(run)
    ? run
    : createHash('sha256').update(run).digest('hex').slice(0, 16);
  return `trace-${safeRun}-${String(number).padStart(6, '0')}.ndjson`;
}

interface Rotation {
  append(lines: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

function rotation({ dir, run, fileBytesMax, filesMax }: TraceFileOptions): Rotation {
  let file: FileHandle | null = null;
  let fileBytes = 0;
  let number = 0;
  const nextFile = async (): Promise<FileHandle> => {
    await file?.close();
    file = null;
    number += 1;
    const next = await open(join(dir, traceFileName(run, number)), 'ax');
    fileBytes = 0;
    file = next;
    // The new one may become full.
    await deleteOldest(dir, filesMax - 1, fileBytesMax);
    return next;
  };

  return {
    async append(lines) {
      let from = 0;
      while (from < lines.length) {
        const target = file === null || fileBytes >= fileBytesMax ? await nextFile() : file;
        let to = from;
        let bytes = 0;
        do {
          bytes += Buffer.byteLength(lines[to] ?? '');
          to += 1;
        } while (to < lines.length && fileBytes + bytes < fileBytesMax);
        const batch = Buffer.from(lines.slice(from, to).join(''));
        try {
          await target.appendFile(batch);
        } catch (error) {
          // Half a line may be there: take it back, so that the file stays one event a line.
          await target.truncate(fileBytes).catch(() => {});
          throw error;
        }
        fileBytes += batch.byteLength;
        from = to;
      }
    },
    async close() {
      await file?.close();
      file = null;
    },
  };
}

/** Keeps the newest files by the time of their last write, as many as take no more than `fullMax` full ones; names of different runs say nothing about their order. */
export async function deleteOldest(dir: string, fullMax: number, fileBytesMax: number): Promise<void> {
  const names = (await readdir(dir)).filter((name) => namePattern.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      const { mtimeMs, size } = await stat(join(dir, name));
      return { name, mtimeMs, size };
    }),
  );
  found.sort((a, b) => b.mtimeMs - a.mtimeMs || b.name.localeCompare(a.name));
  let bytes = 0;
  const old = found.filter(({ size }, index) => {
    // The last line of a full one goes beyond its size.
    bytes += Math.min(size, fileBytesMax);
    return bytes > fullMax * fileBytesMax || index >= filesEverMax;
  });
  await Promise.all(old.map(({ name }) => rm(join(dir, name), { force: true })));
}
