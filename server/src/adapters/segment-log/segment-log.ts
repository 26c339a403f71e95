/**
 * A log of segments in a directory of the machine's file system, which one process at a time may have. What it is made of: segment-log-on.ts.
 */
import type { LogStore, NewLog } from '../../ports/log-store.ts';
import { lockDirectory } from './directory-lock.ts';
import { asLogStoreError } from './errors.ts';
import type { SegmentDirectory } from './segment-directory.ts';
import { makeDirectory, nodeSegmentDirectory } from './segment-file.ts';
import { createSegmentLogOn, missing, openSegmentLogOn, type SegmentLogOptions } from './segment-log-on.ts';

type OpenDirectory = (path: string) => Promise<SegmentDirectory>;
type InDirectory = SegmentLogOptions & { readonly directory: string };

/**
 * Makes a log in `directory`, which is made if it is missing, and locks it. A crash leaves all of the new log, or none.
 * @throws LogStoreError logExists, logLocked...
 */
export async function createSegmentLog(
  options: InDirectory,
  newLog: NewLog,
  openDirectory: OpenDirectory = nodeSegmentDirectory,
): Promise<LogStore> {
  try {
    await makeDirectory(options.directory);
  } catch (error) {
    throw asLogStoreError(error, 'creating the log');
  }
  return locked(options.directory, openDirectory, (on) => createSegmentLogOn(on, options, newLog));
}

/** Opens the log in `directory` and locks it. @throws LogStoreError logMissing, logLocked, logCorrupt... */
export async function openSegmentLog(
  options: InDirectory,
  openDirectory: OpenDirectory = nodeSegmentDirectory,
): Promise<LogStore> {
  return locked(options.directory, openDirectory, (on) => openSegmentLogOn(on, options));
}

async function locked(
  path: string,
  openDirectory: OpenDirectory,
  act: (directory: SegmentDirectory) => Promise<LogStore>,
): Promise<LogStore> {
  const directory = await openDirectory(path);
  const unlock = await lockDirectory(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw missing(path);
    throw asLogStoreError(error, 'locking the log');
  });
  try {
    const store = await act(directory);
    return {
      ...store,
      async close() {
        try {
          await store.close();
        } finally {
          await unlock();
        }
      },
    };
  } catch (error) {
    await unlock();
    throw error;
  }
}
