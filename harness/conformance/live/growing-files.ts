/**
 * Reads the trace files of replicas as they grow, line by line.
 *
 * Responsible for: every whole line of files that were not there before, once, files of one run in their order, and, where it was asked for, deleting what has been read and will not grow. A line that is cut is read when its end comes, or never.
 */
import { closeSync, openSync, readdirSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TraceEvent } from '../../../server/src/api/events.ts';

/** Files are named so by server/src/adapters/trace-file. */
const NAME = /^trace-(.+)-(\d{6})\.ndjson$/;
const CHUNK_BYTES = 1024 * 1024;
/** In one turn, of each file. */
const CHUNKS_MAX = 8;

interface Reading {
  offset: number;
  /** Of a line whose end has not come. */
  rest: Buffer;
}

export interface GrowingFiles {
  /** @returns false if there was more than is read in one turn. @throws Error at a line that is no event */
  read(onEvent: (event: TraceEvent) => void): boolean;
}

export interface GrowingFilesOptions {
  readonly dirs: readonly string[];
  /** Deletes each file once a later one of its run has been begun. */
  readonly isDropped: boolean;
}

export function growingFiles({ dirs, isDropped }: GrowingFilesOptions): GrowingFiles {
  const readings = new Map<string, Reading>();
  const older = new Set(dirs.flatMap((dir) => filesIn(dir).map(({ path }) => path)));
  const chunk = Buffer.alloc(CHUNK_BYTES);

  const readFile = (path: string, onEvent: (event: TraceEvent) => void): boolean => {
    const reading = readings.get(path) ?? { offset: 0, rest: Buffer.alloc(0) };
    readings.set(path, reading);
    const file = openSync(path, 'r');
    try {
      for (let chunks = 0; chunks < CHUNKS_MAX; chunks++) {
        const length = readSync(file, chunk, 0, CHUNK_BYTES, reading.offset);
        if (length === 0) return true;
        reading.offset += length;
        const text = Buffer.concat([reading.rest, chunk.subarray(0, length)]);
        const end = text.lastIndexOf(10) + 1;
        reading.rest = Buffer.from(text.subarray(end));
        for (const line of text.subarray(0, end).toString().split('\n'))
          if (line !== '') onEvent(eventOf(line, path));
      }
      return false;
    } finally {
      closeSync(file);
    }
  };
  return {
    read(onEvent) {
      let isAll = true;
      for (const dir of dirs) {
        const files = filesIn(dir).filter(({ path }) => !older.has(path));
        for (const { path, isFollowed } of files) {
          const isRead = readFile(path, onEvent);
          isAll &&= isRead;
          if (!isRead || !isFollowed || !isDropped) continue;
          rmSync(path, { force: true });
          readings.delete(path);
        }
      }
      return isAll;
    },
  };
}

/** None: the replica has recorded nothing yet. */
function filesIn(dir: string): { path: string; isFollowed: boolean }[] {
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const files = names.flatMap((name) => {
    const parts = NAME.exec(name);
    return parts === null ? [] : [{ path: join(dir, name), run: parts[1]!, number: Number(parts[2]) }];
  });
  const newest = new Map<string, number>();
  for (const { run, number } of files) newest.set(run, Math.max(number, newest.get(run) ?? 0));
  return files
    .sort((a, b) => a.number - b.number)
    .map(({ path, run, number }) => ({ path, isFollowed: number < newest.get(run)! }));
}

function eventOf(line: string, path: string): TraceEvent {
  try {
    return JSON.parse(line) as TraceEvent;
  } catch (cause) {
    throw new Error(`${path} has a line that is no event`, { cause });
  }
}
