/** A ZooKeeper for the tests of one file: it is started here, and stopped and removed after the last of them. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { startZooKeeper, type RunningZooKeeper } from './start-zookeeper.ts';

export interface ZooKeeperOfFile extends RunningZooKeeper {
  /** Removed with it: others may keep their data below. */
  readonly directory: string;
}

/** Call it at the top of the file. */
export async function startZooKeeperOfFile(): Promise<ZooKeeperOfFile> {
  const directory = mkdtempSync(join(tmpdir(), 'barista-zookeeper-'));
  const zookeeper = await startZooKeeper({ directory });
  afterAll(async () => {
    await zookeeper.stop();
    await rm(directory, { recursive: true });
  });
  return { ...zookeeper, directory };
}
