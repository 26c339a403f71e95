import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeLogStore, group } from '../../ports/testing/log-store-contract.ts';
import type { SegmentDirectory } from './segment-directory.ts';
import { nodeSegmentDirectory } from './segment-file.ts';
import { createSegmentLog, openSegmentLog } from './segment-log.ts';
import { createSegmentLogOn, openSegmentLogOn } from './segment-log-on.ts';
import { Random } from '../../ports/testing/random.ts';
import { ProcessTime, SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { createFaultyDirectory } from './testing/faulty-directory.ts';
import { SimulatedDisk } from './testing/simulated-disk.ts';
import { LogStoreError, type LogStore } from '../../ports/log-store.ts';

const segmentBytes = 16 * 1024;

/** Simulated directories have no lock of their own. */
function createLock(): { locked: (opening: () => Promise<LogStore>) => Promise<LogStore>; free: () => void } {
  let isOpen = false;
  const free = (): void => {
    isOpen = false;
  };
  const locked = async (opening: () => Promise<LogStore>): Promise<LogStore> => {
    if (isOpen) throw new LogStoreError('logLocked', 'it is open');
    const store = await opening();
    isOpen = true;
    const close = async (): Promise<void> => {
      free();
      await store.close();
    };
    return { ...store, close };
  };
  return { locked, free };
}

describeLogStore('segment files on a disk whose machine fails', async () => {
  const disk = new SimulatedDisk({ random: new Random(1) });
  const timers = new ProcessTime(new SimulatedTime());
  const { locked, free } = createLock();
  const directory = (): SegmentDirectory => disk.open(timers, () => false);
  return {
    create: (newLog) => locked(() => createSegmentLogOn(directory(), { group, segmentBytes }, newLog)),
    open: () => locked(() => openSegmentLogOn(directory(), { group, segmentBytes })),
    async crash() {
      disk.crashMachine();
      free();
    },
    setFull(full) {
      disk.freeBytes = full ? 0 : Number.POSITIVE_INFINITY;
    },
    async dispose() {
      disk.wipe();
    },
  };
});

describeLogStore('segment files on a simulated disk', async () => {
  let directory = createFaultyDirectory();
  const { locked, free } = createLock();
  return {
    create: (newLog) => locked(() => createSegmentLogOn(directory, { group, segmentBytes }, newLog)),
    open: () => locked(() => openSegmentLogOn(directory, { group, segmentBytes })),
    async crash() {
      directory = directory.crashed(() => false);
      free();
    },
    setFull(full) {
      directory.freeBytes = full ? 0 : Number.POSITIVE_INFINITY;
    },
    async dispose() {
      directory.files.clear();
    },
  };
});

describeLogStore('segment files on the real file system', async () => {
  const path = await mkdtemp(join(tmpdir(), 'barista-log-'));
  let full = false;
  let store: LogStore | null = null;
  const options = { directory: path, group, segmentBytes };
  const openDirectory = async (at: string): Promise<SegmentDirectory> =>
    refusing(await nodeSegmentDirectory(at), () => full);
  return {
    create: async (newLog) => (store = await createSegmentLog(options, newLog, openDirectory)),
    open: async () => (store = await openSegmentLog(options, openDirectory)),
    // Death as a process of its own dies is in crash.test.ts; here the files are let go of as they are.
    crash: async () => store?.close(),
    setFull(value) {
      full = value;
    },
    dispose: () => rm(path, { recursive: true }),
  };
});

function refusing(directory: SegmentDirectory, isFull: () => boolean): SegmentDirectory {
  return {
    ...directory,
    create: (name) =>
      isFull()
        ? Promise.reject(Object.assign(new Error('ENOSPC: injected'), { code: 'ENOSPC' }))
        : directory.create(name),
  };
}
