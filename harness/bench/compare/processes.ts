/**
 * CPU time of trees of processes, from what Linux says of each process.
 *
 * Responsible for: reading /proc and adding up. A process that has ended and was waited for counts with its parent, as the kernel has it, so the
 * difference between two looks misses nothing but what a process without a living ancestor did.
 * Invariant: times are in milliseconds, to the kernel's tick of 10 ms for each process.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Part } from './systems/system.ts';

/** Linux shows times in hundredths of a second on every architecture, whatever its own clock does. */
const tickMs = 10;

export interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  /** Its program's name, of which Linux keeps 15 characters. */
  readonly program: string;
  /** User and system, with those of its ended children. */
  readonly cpuMs: number;
}

export interface ProcessTable {
  readonly processes: ReadonlyMap<number, ProcessTimes>;
  /** What all cores did since the machine started, but idling and waiting for disks. */
  readonly machineMs: number;
  readonly atMs: number;
}

/** One line of /proc/PID/stat. The program's name stands in parentheses and may hold anything. */
export function parseProcess(stat: string): ProcessTimes {
  const pid = Number.parseInt(stat, 10);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number);
  const ticks = (utime ?? 0) + (stime ?? 0) + (cutime ?? 0) + (cstime ?? 0);
  const program = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
  return { pid, parent: Number(fields[1]), program, cpuMs: ticks * tickMs };
}

/** The first line of /proc/stat: user nice system idle iowait irq softirq steal. */
export function parseMachine(stat: string): number {
  const fields = stat.split('\n', 1)[0]?.trim().split(/\s+/).slice(1).map(Number) ?? [];
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = fields;
  return (user + nice + system + irq + softirq + steal) * tickMs;
}

export function lookAtProcesses(): ProcessTable {
  const processes = new Map<number, ProcessTimes>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const times = readProcess(name);
    if (times !== null) processes.set(times.pid, times);
  }
  return {
    processes,
    machineMs: parseMachine(readFileSync('/proc/stat', 'utf8')),
    atMs: performance.now(),
  };
}

/** Null: it has just ended. */
function readProcess(pid: string): ProcessTimes | null {
  try {
    return parseProcess(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return null;
  }
}

/** CPU time of these processes and all that descend from them, each counted once. */
export function treeCpuMs(table: ProcessTable, roots: readonly number[]): number {
  let sumMs = 0;
  for (const { cpuMs } of treeOf(table, roots)) sumMs += cpuMs;
  return sumMs;
}

/** The same for parts of a system, told apart by the role of the part and by program: `leader node`. */
export function cpuMsByPart(table: ProcessTable, parts: readonly Part[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { role, pid } of parts) {
    for (const { program, cpuMs } of treeOf(table, [pid])) {
      // Newer Node.js names its main thread, and so the process, like this.
      const key = `${role} ${program === 'MainThread' ? 'node' : program}`;
      sums.set(key, (sums.get(key) ?? 0) + cpuMs);
    }
  }
  return sums;
}

function treeOf({ processes }: ProcessTable, roots: readonly number[]): readonly ProcessTimes[] {
  const children = new Map<number, number[]>();
  for (const { pid, parent } of processes.values()) {
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [pid]);
    else siblings.push(pid);
  }
  const found: ProcessTimes[] = [];
  const seen = new Set<number>();
  const waiting = [...roots];
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    if (seen.has(pid)) continue;
    seen.add(pid);
    const times = processes.get(pid);
    if (times !== undefined) found.push(times);
    waiting.push(...(children.get(pid) ?? []));
  }
  return found;
}

/** How many cores were busy between two looks with what does not descend from this process: work of others on the machine. */
export function coresOfOthers(before: ProcessTable, after: ProcessTable): number {
  const ownMs = treeCpuMs(after, [process.pid]) - treeCpuMs(before, [process.pid]);
  const busyMs = after.machineMs - before.machineMs;
  return Math.max(0, (busyMs - ownMs) / (after.atMs - before.atMs));
}
