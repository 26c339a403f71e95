/**
 * Makes a copy of a running database that is of one slot exactly, without holding up who executes for longer than a moment.
 *
 * Its files are copied while statements are executed, as a backup. Then a moment is waited for in which no transaction is open: the WAL up to there goes with the files, and where sequences stood, for the WAL has them ahead. A PostgreSQL that is
 * started on it replays the WAL to its end, which is that moment. At a later one the copy goes further by the WAL that has come since, which costs little; a slot keeps that, up to a bound.
 * Invariant: what is called complete has been durable before.
 */
import { dirname, join } from 'node:path';
import { spaceOf } from '../../free-space.ts';
import { makeDirectories, readFile, writeFile } from '../account-files.ts';
import type { Client } from 'pg';
import type { Slot } from '../../../multipaxos/types/names.ts';
import type { BegunCopy, CopyMaker } from '../../../ports/kept-copy.ts';
import { formatLsn, type Lsn, parseLsn, type Timeline, walPageBytes } from '../../../wal/lsn.ts';
import { answerMs, connectPg } from '../pg-client.ts';
import { type BackupSession, keepWal, startBackup, type WalKeeper } from '../copy/backup-session.ts';
import { readControlFacts } from '../copy/control-file.ts';
import { controlFile, labelFile } from '../copy/file-class.ts';
import { createPacer } from '../copy/pacer.ts';
import { appendWal, copyWal, walBegin } from './copied-wal.ts';
import { copyDatabaseFiles, type CopiedFiles, copyOne } from './copy-files.ts';
import { readSequences } from './exact-sequences.ts';
import type { CopyNote, KeptDirectory } from './kept-directory.ts';

export interface MakerOptions {
  readonly directory: KeptDirectory;
  readonly socketDir: string;
  readonly cluster: string;
  readonly bytesPerSecondMax: () => number | null;
}

/** A copy has as much WAL at most, or as much as its files: so much is replayed when it is gone on from. */
const walBytesMax = 128 * 1024 * 1024;
/** Of the disk, beside the copy. */
const freeBytesMin = 512 * 1024 * 1024;

export function createCopyMaker(options: MakerOptions): CopyMaker {
  const { directory, socketDir, cluster } = options;
  let before: CopiedFiles | null = null;
  /** The copy that is kept, and can go further. */
  let base: Base | null = null;

  function lost(): void {
    base?.keeper.close();
    base = null;
  }

  async function resume(): Promise<void> {
    const wal = directory.note?.wal;
    if (base !== null || wal === undefined) return;
    const redo = await walBegin(directory.keptData);
    const { system } = readControlFacts(await readFile(join(directory.keptData, controlFile)));
    const client = await connectPg({ socketDir, database: 'postgres', silentMsMax: answerMs.thorough });
    try {
      const now = await standing(client);
      const end = parseLsn(wal.end);
      if (redo === null || now.system !== system || now.timeline !== wal.timeline || now.flushed < end)
        throw new Error('the copy that is kept is of another life of the database');
      // What was last on its page may never have been whole, and is written anew.
      const from = (end - (end % walPageBytes)) as Lsn;
      const timeline = wal.timeline as Timeline;
      base = { keeper: await keepWal(client), redo, timeline, end: from, bytesTotal: now.bytesTotal };
    } catch (error) {
      void client.end().catch(() => undefined);
      throw error;
    }
  }

  async function begin(signal: AbortSignal): Promise<BegunCopy> {
    lost();
    // It begins with a checkpoint.
    const client = await connectPg({ socketDir, database: 'postgres', silentMsMax: null });
    const quit = (): void => void client.end().catch(() => undefined);
    signal.addEventListener('abort', quit, { once: true });
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
      await makeDirectories(join(making, 'global'));
      await copyOne(join(data, controlFile), join(making, controlFile));
      const { label, stop, redo, timeline } = await backup.stop();
      await writeFile(join(making, labelFile), label, { mode: 0o600 });
      return begun({ backup, files, stop, redo, timeline });
    } catch (error) {
      if (backup === null) void client.end().catch(() => undefined);
      else backup.close();
      await directory.giveUp();
      throw error;
    } finally {
      signal.removeEventListener('abort', quit);
    }
  }

  function begun({ backup, files, ...wal }: Backup): BegunCopy {
    const { redo, timeline } = wal;
    let rest: Rest | null = null;
    return {
      async atRest(slot) {
        rest = await restAt(socketDir, slot);
        if (rest.end < wal.stop) throw new Error('the WAL ends before the copy does');
      },
      async complete() {
        if (rest === null) throw new Error('the copy is of no slot');
        try {
          await copyWal(directory.data, { to: directory.making, timeline }, redo, rest.end);
          await backup.assertWalKept();
          await directory.complete(noteAt(rest, timeline));
        } catch (error) {
          backup.close();
          throw error;
        }
        before = { ...files, directory: directory.keptData };
        base = { keeper: backup, redo, timeline, end: rest.end, bytesTotal: backup.bytesTotal };
        return { slot: rest.slot, bytesCopied: files.bytesCopied, bytesKept: files.bytesKept };
      },
      async giveUp() {
        backup.close();
        await directory.giveUp();
      },
    };
  }

  async function further(): Promise<BegunCopy | null> {
    const from = base;
    if (from === null) return null;
    const { keeper, redo, timeline, bytesTotal } = from;
    const walBytes = (await flushedTo(socketDir)) - redo;
    if (walBytes > Math.max(walBytesMax, bytesTotal)) {
      lost();
      return null;
    }
    let rest: Rest | null = null;
    return {
      async atRest(slot) {
        rest = await restAt(socketDir, slot);
      },
      async complete() {
        if (rest === null || base !== from) throw new Error('the copy is of no slot');
        const { slot, end } = rest;
        try {
          await appendWal(directory.data, { to: directory.keptData, timeline }, from.end, end);
          await keeper.assertWalKept();
          await directory.goFurther(noteAt(rest, timeline));
        } catch (error) {
          lost();
          throw error;
        }
        base = { ...from, end };
        return { slot, bytesCopied: end - from.end, bytesKept: 0 };
      },
      giveUp: () => Promise.resolve(),
    };
  }

  function noteAt({ slot, end, sequences }: Rest, timeline: Timeline): CopyNote {
    return { cluster, slot, sequences, wal: { timeline, end: formatLsn(end) } };
  }

  return {
    begin,
    further,
    resume,
    lost,
    get hasCopy() {
      return directory.note !== null;
    },
    get canGoFurther() {
      return base !== null;
    },
  };
}

interface Base {
  readonly keeper: WalKeeper;
  readonly redo: Lsn;
  readonly timeline: Timeline;
  /** Of the WAL that goes with it. */
  readonly end: Lsn;
  /** Of all databases, without the WAL. */
  readonly bytesTotal: number;
}

interface Rest {
  readonly slot: Slot;
  readonly end: Lsn;
  readonly sequences: CopyNote['sequences'];
}

async function restAt(socketDir: string, slot: Slot): Promise<Rest> {
  const sequences = [...(await readSequences(socketDir))];
  return { slot, end: await flushedTo(socketDir), sequences };
}

interface Backup {
  readonly backup: BackupSession;
  readonly files: CopiedFiles;
  readonly stop: Lsn;
  readonly redo: Lsn;
  readonly timeline: Timeline;
}

interface Standing {
  readonly system: bigint;
  readonly timeline: number;
  readonly flushed: Lsn;
  readonly bytesTotal: number;
}

async function standing(client: Client): Promise<Standing> {
  const { rows } = await client.query<{ system: string; timeline: number; lsn: string; bytes: string }>(
    `SELECT system_identifier::pg_catalog.text AS system, timeline_id AS timeline, pg_catalog.pg_current_wal_flush_lsn()::pg_catalog.text AS lsn,
       (SELECT pg_catalog.sum(pg_catalog.pg_database_size(oid)) FROM pg_catalog.pg_database)::pg_catalog.text AS bytes FROM pg_catalog.pg_control_system(), pg_catalog.pg_control_checkpoint()`,
  );
  const { system, timeline, lsn, bytes } = rows[0]!;
  return { system: BigInt(system), timeline, flushed: parseLsn(lsn), bytesTotal: Number(bytes) };
}

/** What was committed last has been waited for. */
async function flushedTo(socketDir: string): Promise<Lsn> {
  const client = await connectPg({ socketDir, database: 'postgres', silentMsMax: answerMs.quick });
  try {
    const { rows } = await client.query<{ lsn: string }>(
      'SELECT pg_catalog.pg_current_wal_flush_lsn()::pg_catalog.text AS lsn',
    );
    return parseLsn(rows[0]!.lsn);
  } finally {
    await client.end();
  }
}

async function assertRoom(directory: string, bytes: number): Promise<void> {
  const { freeBytes } = await spaceOf(dirname(directory));
  if (freeBytes >= bytes + freeBytesMin) return;
  throw new Error(`about ${Math.ceil((bytes + freeBytesMin) / 1e6)} MB would have to be free`);
}
