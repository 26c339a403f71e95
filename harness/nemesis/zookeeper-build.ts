/**
 * A build whose demo keeps its logs in a ZooKeeper of its own, for runs against that log store: the demo itself has no option for it.
 *
 * Not a bug, only another configuration; made like the planted ones, so it fails loudly if it does not fit.
 */
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startZooKeeper } from '../../server/src/adapters/zookeeper-log/testing/start-zookeeper.ts';
import { buildMutant } from './mutate.ts';

export interface ZooKeeperBuild {
  readonly bin: string;
  stop(): Promise<void>;
}

/** `bin`: of the build to start from, if it is not this checkout's. */
export async function buildOnZooKeeper(directory: string, bin?: string): Promise<ZooKeeperBuild> {
  await mkdir(directory, { recursive: true });
  const server = await startZooKeeper({ directory: join(directory, 'zookeeper') });
  try {
    const logStore = JSON.stringify({ kind: 'zookeeper', servers: [server.server] });
    const configured = {
      file: 'cli/demo/layout.js',
      find: 'faults: true,',
      replace: `faults: true, logStore: ${logStore},`,
    };
    const from = bin === undefined ? undefined : dirname(dirname(bin));
    const build = await buildMutant([configured], from);
    return {
      bin: build.bin,
      stop: async () => {
        await server.stop();
        await build.remove();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
