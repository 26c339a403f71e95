/**
 * What the whole machine did between two looks: bytes and packets over its loopback interface, and writes to its disks, as Linux counts them.
 *
 * The same measure for every system, whatever it is written in. What others do on the machine counts, too; connections over Unix sockets do not.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface MachineCosts {
  readonly loopbackBytes: number;
  readonly loopbackPackets: number;
  readonly diskWrites: number;
  readonly diskBytes: number;
  /** Requests to write out what the disk holds in its cache: those of fsync and its like that reached it. */
  readonly diskFlushes: number;
}

const sectorBytes = 512;

/** Null: not a Linux, or one that does not tell. */
export function lookAtMachine(): MachineCosts | null {
  try {
    const disks = new Set(readdirSync('/sys/block'));
    return {
      ...parseNetwork(readFileSync('/proc/net/dev', 'utf8')),
      ...parseDisks(readFileSync('/proc/diskstats', 'utf8'), disks),
    };
  } catch {
    return null;
  }
}

export function parseNetwork(text: string): Pick<MachineCosts, 'loopbackBytes' | 'loopbackPackets'> {
  const fields = /^\s*lo:\s*(.*)$/m.exec(text)?.[1]?.split(/\s+/).map(Number);
  return { loopbackBytes: fields?.[0] ?? 0, loopbackPackets: fields?.[1] ?? 0 };
}

/** `disks`: whole ones; a partition's writes are its disk's, too. */
export function parseDisks(
  text: string,
  disks: ReadonlySet<string>,
): Pick<MachineCosts, 'diskWrites' | 'diskBytes' | 'diskFlushes'> {
  const sum = { diskWrites: 0, diskBytes: 0, diskFlushes: 0 };
  for (const line of text.split('\n')) {
    const [, , name = '', ...fields] = line.trim().split(/\s+/);
    // What lies on other disks is counted there.
    if (!disks.has(name) || /^(loop|ram|zram|dm-|md)/.test(name)) continue;
    sum.diskWrites += Number(fields[4] ?? 0);
    sum.diskBytes += Number(fields[6] ?? 0) * sectorBytes;
    sum.diskFlushes += Number(fields[15] ?? 0);
  }
  return sum;
}

/** For one of `transactions`. Null: not measured. */
export function costsOfEach(
  before: MachineCosts | null,
  after: MachineCosts | null,
  transactions: number,
): MachineCosts | null {
  if (before === null || after === null) return null;
  return costsBy((name) => (after[name] - before[name]) / transactions);
}

export function costsBy(figure: (name: keyof MachineCosts) => number): MachineCosts {
  return {
    loopbackBytes: figure('loopbackBytes'),
    loopbackPackets: figure('loopbackPackets'),
    diskWrites: figure('diskWrites'),
    diskBytes: figure('diskBytes'),
    diskFlushes: figure('diskFlushes'),
  };
}
