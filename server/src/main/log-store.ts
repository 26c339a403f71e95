/** Which log store a configuration asks for. Each adapter creates a log, opens one or removes one; none ever does two of these. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createSegmentLog, openSegmentLog } from '../adapters/segment-log/segment-log.ts';
import { removeZooKeeperLog } from '../adapters/zookeeper-log/remove-log.ts';
import { createZooKeeperLog, openZooKeeperLog } from '../adapters/zookeeper-log/zookeeper-log.ts';
import type { LogStore, NewLog } from '../ports/log-store.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';

interface Stores {
  readonly open: () => Promise<LogStore>;
  readonly create: (newLog: NewLog) => Promise<LogStore>;
  readonly remove: () => Promise<void>;
}

/** Whoever asks for a removal waits for it. */
const removeMsMax = 15_000;

function storesOf({ dataDir, group, id, bounds, logStore }: ReplicaConfig): Stores {
  switch (logStore.kind) {
    case 'segment': {
      const options = { directory: join(dataDir, 'log'), group, logBytesMax: bounds.logBytesMax };
      return {
        open: () => openSegmentLog(options),
        create: (newLog) => createSegmentLog(options, newLog),
        remove: () => rm(options.directory, { recursive: true, force: true, maxRetries: 5 }),
      };
    }
    case 'zookeeper': {
      const { servers, sessionTimeoutMs, root } = logStore;
      const options = { group, replica: id, servers, sessionTimeoutMs, root };
      return {
        open: () => openZooKeeperLog(options),
        create: (newLog) => createZooKeeperLog(options, newLog),
        remove: () => removeZooKeeperLog({ servers, root, replica: id, waitMs: removeMsMax }),
      };
    }
    default:
      return logStore satisfies never;
  }
}

/** @throws LogStoreError: logMissing if there is none */
export function openLog(config: ReplicaConfig): Promise<LogStore> {
  return storesOf(config).open();
}

/** @throws LogStoreError: logExists if there is one */
export function createLog(config: ReplicaConfig, newLog: NewLog): Promise<LogStore> {
  return storesOf(config).create(newLog);
}

/** What the loss of its disk does; no process may have it open. @throws LogStoreError if the store does not answer */
export function removeLog(config: ReplicaConfig): Promise<void> {
  return storesOf(config).remove();
}
