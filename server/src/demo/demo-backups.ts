/**
 * Backups that the page asks for: one file each in the demo's directory, checked before it has its name, as `barista backup` makes it.
 *
 * Responsible for: which file, one at a time, how far it is. Invariants: at most `backupsMax` files; a backup that breaks off leaves no file.
 */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupsStatus } from '../api/replica-changes.ts';
import { bearer } from '../main/admin-token.ts';

const backupsMax = 50;

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
}

export function createDemoBackups({
  backUp,
  dataDir,
  clusterSecret,
  port,
  now,
}: DemoBackupsOptions): DemoBackups {
  const directory = join(dataDir, 'backups');
  let status: BackupsStatus = { running: null, last: null, problem: null };

  async function run(file: string, takenAt: string): Promise<void> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const there = await readdir(directory);
    if (there.length >= backupsMax)
      throw new Error(`${directory} has ${there.length} files already: delete those that nobody needs`);
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
      const file = join(directory, `${takenAt.replace(/\.\d+Z$/, 'Z').replaceAll(':', '-')}.barista`);
      status = { ...status, running: { file, bytes: 0 }, problem: null };
      void run(file, takenAt).catch((error: Error) => {
        status = { ...status, running: null, problem: error.message };
      });
      return true;
    },
  };
}
