/**
 * PostgreSQL's messages, kept in a file of bounded size: once it is full it becomes `<name>.1` and a new one begins.
 * Keeps the last lines in memory, for error messages. A log that cannot be written is dropped, never waited for.
 */
import { closeSync, constants, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { notRegular } from '../file-system.ts';

export interface LogFile {
  write(chunk: Buffer): void;
  /** Calls back with what is written from now on. Returns the way to stop. */
  watch(listener: (text: string) => void): () => void;
  /** The last lines written. */
  tail(): string;
  /** Goes on in a file of its name: the one before may have been moved away with its directory. */
  reopen(): void;
  close(): void;
}

const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
const tailBytesMax = 4_096;

/** Twice `bytesMax` at most stay on disk. */
export function openLogFile(path: string, bytesMax: number): LogFile {
  let file: number | null = null;
  let bytes = 0;
  let tail = '';
  const listeners = new Set<(text: string) => void>();

  function open(): void {
    file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
    const found = fstatSync(file);
    if (!found.isFile()) throw notRegular(path);
    bytes = found.size;
  }

  function close(): void {
    if (file !== null) closeSync(file);
    file = null;
  }

  function rotate(): void {
    if (file === null) return;
    close();
    renameSync(path, `${path}.1`);
    open();
  }

  open();

  return {
    write(chunk) {
      const text = chunk.toString('utf8');
      tail = (tail + text).slice(-tailBytesMax);
      for (const listener of listeners) listener(text);
      try {
        if (bytes + chunk.length > bytesMax) rotate();
        if (file !== null) bytes += writeSync(file, chunk);
      } catch {
        // A full disk must not take the replica down on account of a log line.
      }
    },
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tail: () => tail.trim().split('\n').slice(-12).join('\n'),
    reopen() {
      close();
      try {
        open();
      } catch {
        // As with a line that cannot be written.
      }
    },
    close,
  };
}
