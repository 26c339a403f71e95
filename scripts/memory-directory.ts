/**
 * A directory in memory for what tests write, where the machine has one with room.
 *
 * Responsible for: saying where, or that there is none. Databases of tests are made, copied and thrown away by the hundred, and what that costs on a disk, in time and in processors, is most of what
 * the tests with PostgreSQL cost. What has to do with disks (lost, torn or full ones) is simulated, or mounted, by the test that needs it; the nemesis and the benchmarks stay on the disk.
 */
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** What the tests that run side by side have at most, and as much again for the processes. */
const FREE_BYTES_MIN = 6 * 2 ** 30;

/** Gone when this process ends. Null: use the disk. */
export function makeMemoryDirectory(): string | null {
  if (
    process.env['TMPDIR'] !== undefined ||
    roomIn(MEMORY) < FREE_BYTES_MIN ||
    freemem() < 2 * FREE_BYTES_MIN
  )
    return null;
  // Short: sockets lie below it, whose paths have a hundred bytes.
  const directory = mkdtempSync(join(MEMORY, 'barista-'));
  // Tests that run as root start PostgreSQL as another account, which has to pass through.
  chmodSync(directory, 0o711);
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function roomIn(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    // Only Linux has it.
    return 0;
  }
}
