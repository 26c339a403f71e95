/** Which log store a configuration asks for. Each adapter creates a log or opens one; neither ever does both. */
import { join } from 'node:path';
import { createSegmentLog, openSegmentLog } from '../adapters/segment-log/segment-log.ts';
import type { LogStore, NewLog } from '../ports/log-store.ts';
import type { ReplicaConfig } from '../replica/config.ts';

function segmentOptions({ dataDir, group, bounds }: ReplicaConfig) {
  return { directory: join(dataDir, 'log'), group, logBytesMax: bounds.logBytesMax };
}

/** @throws LogStoreError: logMissing if there is none */
export function openLog(config: ReplicaConfig): Promise<LogStore> {
  return openSegmentLog(segmentOptions(config));
}

/** @throws LogStoreError: logExists if there is one */
export function createLog(config: ReplicaConfig, newLog: NewLog): Promise<LogStore> {
  return createSegmentLog(segmentOptions(config), newLog);
}
