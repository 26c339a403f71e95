/**
 * Makes a copy of a running database that is of one slot exactly, without holding up who executes for longer than a moment.
 *
 * Its files are copied while statements are executed, as a backup. Then a moment is waited for in which no transaction is open: the WAL up to there goes with the files, and where sequences stood, for the WAL has them ahead. A PostgreSQL that is
 * started on it replays the WAL to its end, which is that moment.
 * Invariant: what is called complete has been durable before.
 */
import { mkdir, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Slot } from '../../../multipaxos/types/names.ts';
import type { BegunCopy, CopyMaker } from '../../../ports/kept-copy.ts';
import { type Lsn, parseLsn } from '../../../wal/lsn.ts';
import { syncPath } from '../../file-system.ts';
import { connectPg } from '../pg-client.ts';
import { type BackupSession, startBackup } from '../copy/backup-session.ts';
import { controlFile, labelFile } from '../copy/file-class.ts';
import { createPacer } from '../copy/pacer.ts';
import { copyDatabaseFiles, type CopiedFiles, copyOne, copyWal } from './copy-files.ts';
import { type ExactSequence, readSequences } from './exact-sequences.ts';
import type { KeptDirectory } from './kept-directory.ts';

export interface MakerOptions {
  readonly directory: KeptDirectory;
  readonly socketDir: string;
  readonly cluster: string;
  readonly bytesPerSecondMax: () => number | null;
}

/** Of the disk, beside the copy. */
const freeBytesMin = 512 * 1024 * 1024;

export function createCopyMaker(options: MakerOptions): CopyMaker {
  const { directory, socketDir, cluster } = options;
  let before: CopiedFiles | null = null;

  async function begin(signal: AbortSignal): Promise<BegunCopy> {
    const client = await connectPg({ socketDir, database: 'postgres' });
    let backup: BackupSession | null = null;
    try {
      await directory.begin();
      backup = await startBackup(client);
      await assertRoom(directory.making, backup.bytesTotal);
      const pacer = createPacer(options.bytesPerSecondMax);
      const { data, making } = directory;
      const files = await copyDatabaseFiles(data, making, before, (bytes) => {
        signal.throwIfAborted();
        return pacer.pass(bytes);
      });
      await mkdir(join(making, 'global'), { recursive: true });
      await copyOne(join(data, controlFile), join(making, controlFile));
      const { label, stop, redo, timeline } = await backup.stop();
      await writeFile(join(making, labelFile), label, { mode: 0o600 });
      await syncPath(join(making, labelFile));
      return begun({ backup, files, stop, redo, timeline });
    } catch (error) {
      if (backup === null) void client.end().catch(() => undefined);
      else backup.close();
      await directory.giveUp();
      throw error;
    }
  }

  function begun({ backup, files, ...wal }: Backup): BegunCopy {
    let rest: {
      readonly slot: Slot;
      readonly end: Lsn;
      readonly sequences: readonly ExactSequence[];
    } | null = null;
    return {
      async atRest(slot) {
        const sequences = await readSequences(socketDir);
        const end = await flushedTo(socketDir);
        if (end < wal.stop) throw new Error('the WAL ends before the copy does');
        rest = { slot, end, sequences };
      },
      async complete() {
        if (rest === null) throw new Error('the copy is of no slot');
        const { slot, end, sequences } = rest;
        try {
          const { data, making: to } = directory;
          await copyWal({ data, to, timeline: wal.timeline }, wal.redo, end);
          await backup.assertWalKept();
          await directory.complete({ cluster, slot, sequences: [...sequences] });
          before = { ...files, directory: directory.keptData };
          return { slot, bytesCopied: files.bytesCopied, bytesKept: files.bytesKept };
        } finally {
          backup.close();
        }
      },
      async giveUp() {
        backup.close();
        await directory.giveUp();
      },
    };
  }

  return { begin };
}

interface Backup {
  readonly backup: BackupSession;
  readonly files: CopiedFiles;
  readonly stop: Lsn;
  readonly redo: Lsn;
  readonly timeline: Parameters<typeof copyWal>[0]['timeline'];
}

/** What was committed last has been waited for. */
async function flushedTo(socketDir: string): Promise<Lsn> {
  const client = await connectPg({ socketDir, database: 'postgres' });
  try {
    const { rows } = await client.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn()::text AS lsn');
    return parseLsn(rows[0]!.lsn);
  } finally {
    await client.end();
  }
}

async function assertRoom(directory: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(directory));
  if (bavail * bsize >= bytes + freeBytesMin) return;
  throw new Error(`about ${Math.ceil((bytes + freeBytesMin) / 1e6)} MB would have to be free`);
}
