/** Opens the source's files, which come and go while a copy is made. */
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from '../account-files.ts';
import { type ControlFacts, ControlFileError, readControlFacts } from './control-file.ts';
import { controlFile } from './file-class.ts';

export interface Opened {
  readonly name: string;
  readonly handle: FileHandle;
  /** When it was opened. */
  readonly bytes: number;
}

/** To open one after the other would take most of the time of a small database. */
const openedAtOnce = 8;

/** Those that are there still. Each is its taker's to close. @throws the file system's error */
export async function* openAll(directory: string, names: readonly string[]): AsyncGenerator<Opened> {
  for (let from = 0; from < names.length; from += openedAtOnce) {
    const opening = names.slice(from, from + openedAtOnce).map((name) => openIfThere(directory, name));
    let taken = 0;
    try {
      for (const one of opening) {
        const file = await one;
        taken += 1;
        if (file !== null) yield file;
      }
    } finally {
      for (const one of opening.slice(taken))
        void one.then((file) => file?.handle.close()).catch(() => undefined);
    }
  }
}

async function openIfThere(directory: string, name: string): Promise<Opened | null> {
  try {
    const handle = await open(join(directory, name), 'r');
    const { size } = await handle.stat();
    return { name, handle, bytes: size };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

const controlReadsMax = 20;

/** PostgreSQL may be writing it at this moment. @throws ControlFileError if it stays damaged */
export async function readControl(
  dataDir: string,
): Promise<{ readonly facts: ControlFacts; readonly bytes: Buffer }> {
  for (let reads = 1; ; reads += 1) {
    const handle = await open(join(dataDir, controlFile), 'r');
    try {
      const bytes = await handle.readFile();
      return { facts: readControlFacts(bytes), bytes };
    } catch (error) {
      if (!(error instanceof ControlFileError) || reads === controlReadsMax) throw error;
      await sleep(10);
    } finally {
      await handle.close();
    }
  }
}
