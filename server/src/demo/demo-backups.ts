/**
 * Backups that the page asks for: one file each in the demo's directory, checked before it has its name, as `barista backup` makes it.
 *
 * Responsible for: which file, one at a time, how far it is. Invariants: at most `backupsMax` backups, and none is begun that may leave too little room on the disk; a backup that breaks off leaves no file.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories } from '../adapters/file-system.ts';
import { spaceOf } from '../adapters/free-space.ts';
import type { BackupsStatus } from '../api/replica-changes.ts';
import { bearer } from '../main/admin-token.ts';

const backupsMax = 10;
const suffix = '.barista';
/** What is left free beside a backup as large as the largest that is there. */
const spareBytes = 1024 ** 3;

export interface DemoBackups {
  status(): BackupsStatus;
  /** Begins one. False: one is being taken already. */
  take(): boolean;
}

export interface BackupWish {
  /** Of the demo's own server, which chooses the replica to ask. */
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly file: string;
}

/** As the command does it: the file is there when all of it was received and checked. @throws Error */
export type BackUp = (
  wish: BackupWish,
  onBytes: (bytes: number) => void,
) => Promise<{ readonly bytes: number }>;

export interface DemoBackupsOptions {
  readonly backUp: BackUp;
  readonly dataDir: string;
  readonly clusterSecret: string;
  /** Of the demo's own server, which chooses the replica to ask. */
  readonly port: number;
  readonly now: () => Date;
  /** On the disk of this directory. */
  readonly freeBytes: (directory: string) => Promise<number>;
}

export async function freeBytesOn(directory: string): Promise<number> {
  return (await spaceOf(directory)).freeBytes;
}

export function createDemoBackups({
  backUp,
  dataDir,
  clusterSecret,
  port,
  now,
  freeBytes,
}: DemoBackupsOptions): DemoBackups {
  const directory = join(dataDir, 'backups');
  let status: BackupsStatus = { running: null, last: null, problem: null };

  /** @throws Error */
  async function requireRoom(): Promise<void> {
    // What an interrupted one left is none.
    const there = (await readdir(directory)).filter((name) => name.endsWith(suffix));
    if (there.length >= backupsMax)
      throw new Error(`${directory} has ${there.length} backups already: delete those that nobody needs`);
    const sizes = await Promise.all(there.map(async (name) => (await stat(join(directory, name))).size));
    const needed = Math.max(0, ...sizes) + spareBytes;
    const free = await freeBytes(directory);
    if (free < needed)
      throw new Error(
        `The disk of ${directory} has ${mib(free)} MiB free, and a backup is begun with ${mib(needed)} MiB: make room, or take it elsewhere with "barista backup"`,
      );
  }

  async function run(file: string, takenAt: string): Promise<void> {
    await makeDirectories(directory, 0o700);
    await requireRoom();
    const { bytes } = await backUp({ port, headers: bearer(clusterSecret), file }, (soFar) => {
      status = { ...status, running: { file, bytes: soFar } };
    });
    status = { running: null, last: { file, bytes, takenAt }, problem: null };
  }

  return {
    status: () => status,
    take() {
      if (status.running !== null) return false;
      const takenAt = now().toISOString();
      const file = join(directory, `${takenAt.replaceAll(/[:.]/g, '-')}${suffix}`);
      status = { ...status, running: { file, bytes: 0 }, problem: null };
      void run(file, takenAt).catch((error: Error) => {
        status = { ...status, running: null, problem: error.message };
      });
      return true;
    },
  };
}

function mib(bytes: number): number {
  return Math.floor(bytes / 1024 ** 2);
}
