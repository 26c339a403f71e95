/**
 * What a replica's processes did between two looks, by thread of Node.js and by kind of PostgreSQL process, from what Linux says of them.
 *
 * Responsible for: reading /proc. Threads count in nanoseconds, processes of PostgreSQL to the kernel's tick of 10 ms.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { lookAtProcesses, treeCpuMs, type ProcessTable } from '../compare/processes.ts';

export interface ReplicaLook {
  /** Of the thread that runs JavaScript. */
  readonly mainUs: number;
  /** Of V8's and libuv's own. */
  readonly othersUs: number;
  /** Calls of `read` and `write`, and their like, of the whole process. */
  readonly reads: number;
  readonly writes: number;
  /** Of processes of PostgreSQL that live on, by kind. */
  readonly postgresUs: ReadonlyMap<string, number>;
  /** Of all of PostgreSQL, what has ended included. */
  readonly allPostgresUs: number;
}

/** Processes that stay for as long as a PostgreSQL runs; what is left of its time are clients' sessions. */
const lasting =
  /^postgres: (walsender|walreceiver|startup|walwriter|wal writer|checkpointer|background writer|io worker|autovacuum launcher|logical replication launcher|archiver)/;

export function lookAtReplica(pid: number): ReplicaLook {
  const table = lookAtProcesses();
  const threads = readdirSync(`/proc/${pid}/task`).map((tid) => ({
    isMain: Number(tid) === pid,
    us: onCpuUs(`/proc/${pid}/task/${tid}/schedstat`),
  }));
  const sum = (isMain: boolean): number =>
    threads.reduce((all, thread) => (thread.isMain === isMain ? all + thread.us : all), 0);
  const io = readFileSync(`/proc/${pid}/io`, 'utf8');
  const calls = (name: string): number => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(io)?.[1] ?? 0);
  return {
    mainUs: sum(true),
    othersUs: sum(false),
    reads: calls('syscr'),
    writes: calls('syscw'),
    ...postgresOf(table, pid),
  };
}

/** A thread that has just ended did nothing that counts. */
function onCpuUs(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ', 1)[0]) / 1000;
  } catch {
    return 0;
  }
}

function postgresOf(table: ProcessTable, pid: number): Pick<ReplicaLook, 'postgresUs' | 'allPostgresUs'> {
  const postgresUs = new Map<string, number>();
  const mains = [...table.processes.values()].filter(({ parent }) => parent === pid);
  for (const { pid: main } of mains) {
    for (const { pid: one, parent, cpuMs } of table.processes.values()) {
      const kind = parent === main ? lasting.exec(titleOf(one))?.[1] : undefined;
      if (kind !== undefined) postgresUs.set(kind, (postgresUs.get(kind) ?? 0) + cpuMs * 1000);
    }
  }
  return {
    postgresUs,
    allPostgresUs:
      treeCpuMs(
        table,
        mains.map(({ pid: main }) => main),
      ) * 1000,
  };
}

function titleOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

/** What was done in between. Kinds that did nothing are left out. */
export function between(before: ReplicaLook, after: ReplicaLook): ReplicaLook {
  const postgresUs = new Map<string, number>();
  let lastingUs = 0;
  for (const [kind, us] of after.postgresUs) {
    const spent = us - (before.postgresUs.get(kind) ?? 0);
    lastingUs += spent;
    if (spent > 0) postgresUs.set(kind, spent);
  }
  const allPostgresUs = after.allPostgresUs - before.allPostgresUs;
  postgresUs.set('sessions', Math.max(0, allPostgresUs - lastingUs));
  return {
    mainUs: after.mainUs - before.mainUs,
    othersUs: after.othersUs - before.othersUs,
    reads: after.reads - before.reads,
    writes: after.writes - before.writes,
    postgresUs,
    allPostgresUs,
  };
}
