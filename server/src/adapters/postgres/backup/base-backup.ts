/**
 * The replica's own database as one tar stream: PostgreSQL's BASE_BACKUP, then the WAL that makes it consistent, then a trailer (trailer.ts) that says that it is whole, and what position it has.
 *
 * PostgreSQL goes on serving meanwhile, as a primary or as a standby. A temporary replication slot keeps the WAL until the end. The stream asks PostgreSQL for more only
 * when its reader does, at most `bytesPerSecondMax`, and ends PostgreSQL's work when it is destroyed. PostgreSQL itself leaves out what must
 * not travel (postmaster.pid, unlogged tables, temporary files); whoever unpacks it leaves out the configuration files. There is no manifest: it would
 * protect the way from PostgreSQL's socket to this process only, and the trailer's checksum covers all the rest; PostgreSQL verifies its pages'
 * checksums while it reads them.
 * Invariant: all WAL in it is chosen. The files are a primary's perhaps, and hold effects of WAL that is not: so the stream ends well only when everything up to the backup's end is chosen, and its WAL is
 * that up to the durable position, cut there.
 */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { CopyError, type CopyErrorCode } from '../../../ports/copy.ts';
import { tablespacesRefused } from '../copy/backup-session.ts';
import type { DurablePosition } from '../copy/chosen.ts';
import { damageIn, sqlStateOf } from '../database-error.ts';
import { answerMs } from '../pg-client.ts';
import { BackupTar, type BackupTarOptions, readPosition, readRow, type TarBegin } from './backup-tar.ts';
import { openReplication, type ReplicationConnection } from './replication-connection.ts';
import { withTrailer } from './trailer.ts';

export interface BaseBackupOptions extends BackupTarOptions {
  /** Of the replica's own PostgreSQL. */
  readonly socketPath: string;
  /** Of it, such as `18.4`. */
  readonly version: string;
}

export interface BaseBackup {
  /** About: without the WAL. */
  readonly bytesTotal: number;
  /** When it began: it has this position at least. */
  readonly begun: DurablePosition;
  /** Ends in a CopyError if it does not become whole. */
  readonly stream: Readable;
}

export interface BackupSource {
  /** @throws CopyError */
  open(): Promise<BaseBackup>;
}

/** Each reads the whole database, and PostgreSQL has few such connections. */
const backupsMax = 2;

export function createBackupSource(options: BaseBackupOptions): BackupSource {
  let backups = 0;
  return {
    async open() {
      if (backups >= backupsMax) {
        throw new CopyError('sourceBusy', `${backups} backups of this database are being made already`);
      }
      backups += 1;
      let counted = true;
      const done = (): void => {
        if (counted) backups -= 1;
        counted = false;
      };
      try {
        return await openBackup(options, done);
      } catch (error) {
        done();
        throw toCopyError(error, 'sourceUnavailable');
      }
    },
  };
}

async function openBackup(options: BaseBackupOptions, done: () => void): Promise<BaseBackup> {
  const begun = options.position();
  if (begun.position.timeline === 0) {
    throw new CopyError('sourceUnavailable', 'nobody has led this group yet');
  }
  const { socketPath, version } = options;
  const connection = await openReplication({ socketPath, version, silentMsMax: answerMs.thorough });
  const ended = new AbortController();
  try {
    await runCommand(
      connection,
      `CREATE_REPLICATION_SLOT "barista_copy_${randomBytes(8).toString('hex')}" TEMPORARY PHYSICAL (RESERVE_WAL)`,
    );
    connection.send(
      "BASE_BACKUP (LABEL 'barista', PROGRESS true, CHECKPOINT 'fast', WAL false, WAIT false, MANIFEST 'no')",
    );
    const { redo, timeline, bytesTotal } = await readHead(connection);
    const tar = new BackupTar(options, connection, ended.signal, { redo, timeline });
    const chunks = withTrailer(tar.files(), () => tar.wal());
    const release = (): void => {
      ended.abort();
      connection.destroy();
      done();
    };
    return { bytesTotal, begun, stream: pull(chunks, release) };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** Unlike Readable.from it does not wait for the next chunk when it is destroyed: the connection goes first, whatever PostgreSQL is doing. */
function pull(chunks: AsyncIterator<Buffer>, release: () => void): Readable {
  return new Readable({
    highWaterMark: 256 * 1024,
    read() {
      chunks.next().then(
        ({ value, done }) => this.push(done === true ? null : value),
        (error: unknown) => this.destroy(toCopyError(error, 'transferFailed')),
      );
    },
    destroy(error, callback) {
      release();
      callback(error);
    },
  });
}

async function runCommand(connection: ReplicationConnection, command: string): Promise<void> {
  connection.send(command);
  while ((await connection.next()).type !== 'Z');
}

/** Two result sets come first: where the backup starts, and the tablespaces with their sizes in KB; then the copying begins. */
async function readHead(
  connection: ReplicationConnection,
): Promise<TarBegin & { readonly bytesTotal: number }> {
  const sets: (string | null)[][][] = [];
  for (;;) {
    const { type, body } = await connection.next();
    if (type === 'T') sets.push([]);
    if (type === 'D') sets.at(-1)?.push(readRow(body));
    if (type === 'H') break;
  }
  const [starts = [], tablespaces = []] = sets;
  if (tablespaces.length !== 1) throw new CopyError('sourceUnavailable', tablespacesRefused);
  return { ...readPosition(starts[0]), bytesTotal: Number(tablespaces[0]?.[2] ?? 0) * 1024 };
}

function toCopyError(error: unknown, code: CopyErrorCode): CopyError {
  if (error instanceof CopyError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const damage = damageIn(error);
  if (damage !== null) {
    return new CopyError('sourceDamaged', `the source is damaged: ${damage}`, { cause: error });
  }
  const busy = sqlStateOf(error)?.startsWith('53') ?? false;
  const kind = busy && code === 'sourceUnavailable' ? 'sourceBusy' : code;
  return new CopyError(kind, message, { cause: error });
}
