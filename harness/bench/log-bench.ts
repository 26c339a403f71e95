/**
 * How fast the segment log appends, against a plain loop of write and fdatasync on the same disk.
 *
 *   npx tsx harness/bench/log-bench.ts [--directory DIR] [--seconds 3] [--bytes 1024]
 *
 * Prints appends per second, the median and 99th percentile latency, and CPU per append. The disk decides, so compare the lines with each other.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openSegmentLog } from '../../server/src/adapters/segment-log/segment-log.ts';
import type { GroupId, LogRecord, ReplicaId, Slot } from '../../server/src/multipaxos/types.ts';

const { values } = parseArgs({
  options: {
    directory: { type: 'string', default: tmpdir() },
    seconds: { type: 'string', default: '3' },
    bytes: { type: 'string', default: '1024' },
  },
});
const runMs = Number(values.seconds) * 1000;
const payload = new Uint8Array(Number(values.bytes)).fill(7);
const group = 'bench' as GroupId;
const scratch = mkdtempSync(join(values.directory, 'barista-log-bench-'));

/** Runs `append` in `outstanding` lanes for the time given and prints a line. */
async function measure(
  name: string,
  outstanding: number,
  append: (n: number) => Promise<void>,
): Promise<void> {
  const latenciesMs: number[] = [];
  let started = 0;
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const lane = async (): Promise<void> => {
    while (performance.now() - startMs < runMs) {
      const beforeMs = performance.now();
      await append(++started);
      latenciesMs.push(performance.now() - beforeMs);
    }
  };
  await Promise.all(Array.from({ length: outstanding }, lane));
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  latenciesMs.sort((a, b) => a - b);
  const at = (quantile: number): string =>
    `${(latenciesMs[Math.floor(latenciesMs.length * quantile)] ?? 0).toFixed(2)} ms`;
  const perSecond = Math.round(latenciesMs.length / seconds);
  const cpuUs = ((user + system) / latenciesMs.length).toFixed(1);
  console.log(
    `${name.padEnd(34)} ${String(outstanding).padStart(3)} outstanding ${String(perSecond).padStart(8)} appends/s` +
      `   p50 ${at(0.5).padStart(8)}   p99 ${at(0.99).padStart(8)}   ${cpuUs.padStart(6)} us CPU`,
  );
}

async function plainLoop(): Promise<void> {
  const file = await open(join(scratch, 'plain'), 'w');
  await measure('write + fdatasync, growing file', 1, async (n) => {
    await file.write(payload, 0, payload.length, n * payload.length);
    await file.datasync();
  });
  await file.close();
}

async function segmentLog(outstanding: number): Promise<void> {
  const store = await openSegmentLog({ directory: join(scratch, `log-${outstanding}`), group });
  const ballot = { round: 1, replica: 'r1' as ReplicaId };
  await measure('segment log', outstanding, (n) => {
    const entry = { kind: 'command', group, proposal: { client: 'bench', request: n }, payload } as const;
    const record: LogRecord = { kind: 'vote', slot: n as Slot, ballot, entry };
    return store.append([record]);
  });
  await store.close();
}

try {
  await plainLoop();
  for (const outstanding of [1, 64]) await segmentLog(outstanding);
} finally {
  rmSync(scratch, { recursive: true });
}
