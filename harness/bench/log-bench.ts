/**
 * How fast log stores append, against a plain loop of write and fdatasync on the same disk.
 *
 * Reports appends per second, the median and 99th percentile latency, and CPU per append. The disk decides, so compare the lines with each other.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { createSegmentLog } from '../../server/src/adapters/segment-log/segment-log.ts';
import { startZooKeeper } from '../../server/src/adapters/zookeeper-log/testing/start-zookeeper.ts';
import { createZooKeeperLog } from '../../server/src/adapters/zookeeper-log/zookeeper-log.ts';
import { ballotNone } from '../../server/src/multipaxos/ballot.ts';
import type { LogStore, NewLog } from '../../server/src/ports/log-store.ts';
import type { GroupId, ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { LogRecord } from '../../server/src/multipaxos/types/records.ts';

export interface LogBenchOptions {
  /** On the disk to measure; a scratch directory is made in it, and removed. */
  readonly directory: string;
  readonly seconds: number;
  readonly entryBytes: number;
  /** `zookeeper`: beside the segment log, the log in a ZooKeeper of its own on the same disk. */
  readonly store: 'segment' | 'zookeeper';
}

export interface LogResult {
  readonly name: string;
  readonly outstanding: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuUs: number;
}

const group = 'bench' as GroupId;
const newLog: NewLog = {
  identity: { cluster: 'bench', member: 'r1' as ReplicaId },
  configuration: { version: 1, slot: 0 as Slot, members: [] },
  base: 0 as Slot,
  promised: ballotNone,
};
const lanes = [1, 64];

export async function runLogBench(
  options: LogBenchOptions,
  onResult: (result: LogResult) => void,
): Promise<readonly LogResult[]> {
  const scratch = mkdtempSync(join(options.directory, 'barista-log-bench-'));
  const payload = new Uint8Array(options.entryBytes).fill(7);
  const results: LogResult[] = [];
  const keep = (result: LogResult): void => {
    results.push(result);
    onResult(result);
  };
  try {
    keep(await plainLoop(scratch, payload, options.seconds));
    for (const outstanding of lanes) {
      const log = await createSegmentLog({ directory: join(scratch, `log-${outstanding}`), group }, newLog);
      keep(await appends('segment log', log, payload, options.seconds, outstanding));
    }
    if (options.store === 'zookeeper') await zookeeperLog(scratch, payload, options.seconds, keep);
  } finally {
    rmSync(scratch, { recursive: true });
  }
  return results;
}

export function logLine({ name, outstanding, perSecond, p50Ms, p99Ms, cpuUs }: LogResult): string {
  const ms = (value: number): string => `${value.toFixed(2)} ms`.padStart(9);
  return (
    `${name.padEnd(30)} ${String(outstanding).padStart(3)} outstanding ${String(perSecond).padStart(8)} appends/s` +
    `   p50 ${ms(p50Ms)}   p99 ${ms(p99Ms)}   ${cpuUs.toFixed(1).padStart(6)} us CPU`
  );
}

/** Runs `append` in `outstanding` lanes for the time given. */
async function measure(
  name: string,
  outstanding: number,
  seconds: number,
  append: (n: number) => Promise<void>,
): Promise<LogResult> {
  const latenciesMs: number[] = [];
  let started = 0;
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const lane = async (): Promise<void> => {
    while (performance.now() - startMs < seconds * 1000) {
      const beforeMs = performance.now();
      await append(++started);
      latenciesMs.push(performance.now() - beforeMs);
    }
  };
  await Promise.all(Array.from({ length: outstanding }, lane));
  const tookSeconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  latenciesMs.sort((a, b) => a - b);
  const at = (quantile: number): number => latenciesMs[Math.floor(latenciesMs.length * quantile)] ?? 0;
  return {
    name,
    outstanding,
    perSecond: Math.round(latenciesMs.length / tookSeconds),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    cpuUs: (user + system) / latenciesMs.length,
  };
}

async function plainLoop(scratch: string, payload: Uint8Array, seconds: number): Promise<LogResult> {
  const file = await open(join(scratch, 'plain'), 'w');
  try {
    return await measure('write + fdatasync, growing file', 1, seconds, async (n) => {
      await file.write(payload, 0, payload.length, n * payload.length);
      await file.datasync();
    });
  } finally {
    await file.close();
  }
}

async function zookeeperLog(
  scratch: string,
  payload: Uint8Array,
  seconds: number,
  keep: (result: LogResult) => void,
): Promise<void> {
  const zookeeper = await startZooKeeper({
    directory: join(scratch, 'zookeeper'),
    tickMs: 2000,
    heapMib: 1024,
    isMeasured: true,
  });
  try {
    for (const outstanding of lanes) {
      const servers = [zookeeper.server];
      const replica = `r${outstanding}` as ReplicaId;
      const log = await createZooKeeperLog({ group, replica, servers }, newLog);
      keep(await appends('log in ZooKeeper, one server', log, payload, seconds, outstanding));
    }
  } finally {
    await zookeeper.stop();
  }
}

/** Closes `log`. */
async function appends(
  name: string,
  log: LogStore,
  payload: Uint8Array,
  seconds: number,
  outstanding: number,
): Promise<LogResult> {
  const ballot = { round: 1, replica: 'r1' as ReplicaId };
  try {
    return await measure(name, outstanding, seconds, (n) => {
      const entry = {
        kind: 'command',
        group,
        proposal: { client: 'bench', request: n },
        payload,
      } as const;
      const record: LogRecord = { kind: 'vote', slot: n as Slot, ballot, entry };
      return log.append([record]);
    });
  } finally {
    await log.close();
  }
}
