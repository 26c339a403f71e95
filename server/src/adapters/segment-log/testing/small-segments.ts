/** A log on a simulated disk, of segments so small that a test fills several. */
import type { LogStore } from '../../../ports/log-store.ts';
import { group, newLogOf } from '../../../ports/testing/log-store-contract.ts';
import { createSegmentLogOn, openSegmentLogOn } from '../segment-log-on.ts';
import type { FaultyDirectory } from './faulty-directory.ts';

export const segmentBytes = 16 * 1024;
/** Longer than any test. */
const neverMs = 3_600_000;

export const create = (
  directory: FaultyDirectory,
  sealAfterMs = neverMs,
  newLog = newLogOf(),
): Promise<LogStore> => createSegmentLogOn(directory, { group, segmentBytes, sealAfterMs }, newLog);

export const open = (directory: FaultyDirectory, sealAfterMs = neverMs): Promise<LogStore> =>
  openSegmentLogOn(directory, { group, segmentBytes, sealAfterMs });
