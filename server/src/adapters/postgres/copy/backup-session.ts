/**
 * The session with the source's PostgreSQL in which a copy of its files is a backup: PostgreSQL keeps the WAL from a checkpoint on, and says afterwards from where to where it must be replayed.
 *
 * Responsible for: pg_backup_start and pg_backup_stop in one session, the slot that keeps the WAL, and asking whether this is a standby still. Reads no files.
 * Invariants: when the session ends, however it does, PostgreSQL forgets the backup and gives the WAL free.
 */
import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';
import { type Lsn, parseLsn, type Timeline } from '../../../wal/lsn.ts';
import { CopyError } from '../../../ports/copy.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';

export type SourceKind = 'standby' | 'primary';

export interface StoppedBackup {
  /** Replay of the WAL from `redo` up to here makes the copy consistent. */
  readonly stop: Lsn;
  readonly redo: Lsn;
  /** Of `redo`. */
  readonly timeline: Timeline;
  /** What backup_label must hold. */
  readonly label: string;
}

/** Keeps WAL, from some checkpoint on, until it is closed. */
export interface WalKeeper {
  /** @throws CopyError if it is not kept any more */
  assertWalKept(): Promise<void>;
  close(): void;
}

export interface BackupSession extends WalKeeper {
  readonly kind: SourceKind;
  /** From before every page that is read after this call. */
  readonly redo: Lsn;
  /** Of all databases, without the WAL. An estimate. */
  readonly bytesTotal: number;
  /** True: pages that were read before this call hold the effects of replayed WAL and nothing else. */
  isStillStandby(): Promise<boolean>;
  /** @throws Error, also if this was a standby and has been promoted */
  stop(): Promise<StoppedBackup>;
}

/** From the last checkpoint on. `client` is closed with it. */
export async function keepWal(client: Client): Promise<WalKeeper> {
  return keeperOf(client, await createSlot(client));
}

/** Makes a checkpoint; of a standby, a restart point. `client` is closed with the session. @throws Error */
export async function startBackup(client: Client): Promise<BackupSession> {
  // The slot is first, so that nothing from the checkpoint on is removed.
  const slot = await createSlot(client);
  const kind = (await isInRecovery(client)) ? 'standby' : 'primary';
  const started = await client.query<{ redo: string }>(
    "SELECT pg_catalog.pg_backup_start('barista', true)::pg_catalog.text AS redo",
  );
  const size = await client.query<{ bytes: string }>(
    ownSql(
      'SELECT (pg_catalog.sum(pg_catalog.pg_database_size(oid)) + pg_catalog.pg_tablespace_size(1664))::pg_catalog.text AS bytes FROM pg_catalog.pg_database',
    ),
  );
  return {
    kind,
    redo: parseLsn(started.rows[0]!.redo),
    bytesTotal: Number(size.rows[0]!.bytes),
    isStillStandby: () => isInRecovery(client),
    stop: () => stopBackup(client),
    ...keeperOf(client, slot),
  };
}

async function createSlot(client: Client): Promise<string> {
  const slot = `barista_copy_${randomBytes(8).toString('hex')}`;
  await client.query('SELECT pg_catalog.pg_create_physical_replication_slot($1, true, true)', [slot]);
  return slot;
}

function keeperOf(client: Client, slot: string): WalKeeper {
  return {
    async assertWalKept() {
      const found = await client.query<{ status: string }>(
        ownSql('SELECT wal_status AS status FROM pg_catalog.pg_replication_slots WHERE slot_name = $1'),
        [slot],
      );
      const status = found.rows[0]?.status ?? 'gone';
      if (status === 'reserved' || status === 'extended') return;
      throw new CopyError(
        'transferFailed',
        `the copy took so long that its WAL is no longer kept (its slot is ${status})`,
      );
    },
    close: () => void client.end().catch(() => undefined),
  };
}

async function isInRecovery(client: Client): Promise<boolean> {
  const result = await client.query<{ standby: boolean }>('SELECT pg_catalog.pg_is_in_recovery() AS standby');
  return result.rows[0]!.standby;
}

async function stopBackup(client: Client): Promise<StoppedBackup> {
  const stopped = await client.query<{ lsn: string; labelfile: string; spcmapfile: string }>(
    'SELECT lsn::pg_catalog.text, labelfile, spcmapfile FROM pg_catalog.pg_backup_stop(false)',
  );
  const { lsn, labelfile, spcmapfile } = stopped.rows[0]!;
  if (spcmapfile.trim() !== '') throw new CopyError('sourceUnavailable', tablespacesRefused);
  return { stop: parseLsn(lsn), label: labelfile, ...readLabel(labelfile) };
}

export const tablespacesRefused = 'databases with tablespaces of their own cannot be copied';

/** @throws Error if it is no backup label */
export function readLabel(label: string): { readonly redo: Lsn; readonly timeline: Timeline } {
  const redo = /^START WAL LOCATION: ([0-9A-F]+\/[0-9A-F]+) /m.exec(label)?.[1];
  const timeline = /^START TIMELINE: (\d+)$/m.exec(label)?.[1];
  if (redo === undefined || timeline === undefined)
    throw new Error('the backup label of PostgreSQL cannot be understood');
  return { redo: parseLsn(redo), timeline: Number(timeline) as Timeline };
}
