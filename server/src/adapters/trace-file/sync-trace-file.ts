/**
 * Records trace events as trace-file.ts does, each before `write` returns: a process that is killed has told whatever others heard of.
 *
 * For protocols whose judge does not look for steps that a trace lacks. It costs a system call for each event, of a run that is to be judged.
 * Invariants: `write` never throws; an event is in the file in the order of the calls; what cannot be taken is counted.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectories } from '../file-system.ts';
import { deleteOldest, type TraceFile, type TraceFileOptions, traceFileName } from './trace-file.ts';

/** @throws if the directory cannot be made */
export async function openSyncTraceFile(options: TraceFileOptions): Promise<TraceFile> {
  const { dir, run, fileBytesMax, filesMax } = options;
  await makeDirectories(dir);
  let file: number | null = null;
  let fileBytes = 0;
  let number = 0;
  let dropped = 0;
  let isClosed = false;

  const report = (error: unknown): void =>
    options.onError?.(error instanceof Error ? error : new Error(String(error)));
  const close = (): void => {
    if (file !== null) closeSync(file);
    file = null;
  };
  const nextFile = (): number => {
    close();
    number += 1;
    file = openSync(join(dir, traceFileName(run, number)), 'ax');
    fileBytes = 0;
    deleteOldest(dir, filesMax - 1, fileBytesMax).catch(report);
    return file;
  };

  return {
    write(event) {
      if (isClosed) {
        dropped += 1;
        return;
      }
      try {
        const line = Buffer.from(`${JSON.stringify(event)}\n`);
        const target = file === null || fileBytes >= fileBytesMax ? nextFile() : file;
        fileBytes += writeSync(target, line);
      } catch (error) {
        if (dropped === 0) report(error);
        dropped += 1;
      }
    },
    get dropped() {
      return dropped;
    },
    flush: () => Promise.resolve(),
    close() {
      isClosed = true;
      close();
      return Promise.resolve();
    },
  };
}
