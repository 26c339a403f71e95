/**
 * Copies of the replica's own PostgreSQL for its peers: BASE_BACKUP as one tar stream, with a trailer (trailer.ts) that says that it is whole.
 *
 * PostgreSQL goes on serving meanwhile. A temporary replication slot keeps the WAL that the copy needs until its end. The stream asks PostgreSQL for more only
 * when its reader does, at most `bytesPerSecondMax`, and ends PostgreSQL's work when it is destroyed. PostgreSQL itself leaves out what must
 * not travel (postmaster.pid, unlogged tables, temporary files); the receiver leaves out the configuration files. There is no manifest: it would
 * protect the way from PostgreSQL's socket to this process only, and the trailer's checksum covers all the rest; PostgreSQL verifies its pages'
 * checksums while it reads them.
 */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { SnapshotError } from '../../../ports/snapshot.ts';
import type { SnapshotErrorCode, SnapshotSource, SnapshotStream } from '../../../ports/snapshot.ts';
import { damageIn, sqlStateOf } from '../database-error.ts';
import type { PostgresServer } from '../postgres-server.ts';
import { createPacer } from '../copy/pacer.ts';
import { openReplication } from './replication-connection.ts';
import type { ReplicationConnection } from './replication-connection.ts';
import { withTrailer } from './trailer.ts';

export interface SnapshotSourceOptions {
  /** Asked again and again while a copy is made; null: as fast as it goes. */
  readonly bytesPerSecondMax: () => number | null;
}

/** Each reads the whole database, and PostgreSQL has four such connections. */
const copiesMax = 2;

export function createSnapshotSource(
  server: Pick<PostgresServer, 'socketPath' | 'database'>,
  options: SnapshotSourceOptions,
): SnapshotSource {
  let copies = 0;
  return {
    async open() {
      if (copies >= copiesMax) {
        throw new SnapshotError('sourceBusy', `${copies} copies of this database are being made already`);
      }
      copies += 1;
      let counted = true;
      const done = (): void => {
        if (counted) copies -= 1;
        counted = false;
      };
      try {
        return await openCopy(server, options, done);
      } catch (error) {
        done();
        throw toSnapshotError(error, 'sourceUnavailable');
      }
    },
  };
}

async function openCopy(
  server: Pick<PostgresServer, 'socketPath' | 'database'>,
  options: SnapshotSourceOptions,
  done: () => void,
): Promise<SnapshotStream> {
  const connection = await openReplication(server.socketPath, server.database);
  try {
    await runCommand(
      connection,
      `CREATE_REPLICATION_SLOT "barista_copy_${randomBytes(8).toString('hex')}" TEMPORARY PHYSICAL (RESERVE_WAL)`,
    );
    connection.send(
      "BASE_BACKUP (LABEL 'barista', PROGRESS true, CHECKPOINT 'fast', WAL true, MANIFEST 'no')",
    );
    const bytesTotal = await readHeader(connection);
    const chunks = withTrailer(archive(connection, options));
    return { bytesTotal, stream: pull(chunks, () => (connection.destroy(), done())) };
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
        (error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error))),
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

/** Two result sets come first: where the copy starts, and the tablespaces with their sizes in KB; then the copying begins. */
async function readHeader(connection: ReplicationConnection): Promise<number> {
  const sets: (string | null)[][][] = [];
  for (;;) {
    const { type, body } = await connection.next();
    if (type === 'T') sets.push([]);
    if (type === 'D') sets.at(-1)?.push(readRow(body));
    if (type === 'H') break;
  }
  const tablespaces = sets[1] ?? [];
  if (tablespaces.length !== 1) {
    throw new SnapshotError('sourceUnavailable', 'databases with tablespaces of their own cannot be copied');
  }
  return Number(tablespaces[0]?.[2] ?? 0) * 1024;
}

function readRow(body: Buffer): (string | null)[] {
  const columns: (string | null)[] = [];
  let at = 2;
  for (let left = body.readInt16BE(0); left > 0; left -= 1) {
    const length = body.readInt32BE(at);
    at += 4;
    columns.push(length < 0 ? null : body.toString('utf8', at, at + length));
    at += Math.max(0, length);
  }
  return columns;
}

/** The bytes of the archive. Returns only after PostgreSQL has said that the copy is whole. */
async function* archive(
  connection: ReplicationConnection,
  options: SnapshotSourceOptions,
): AsyncGenerator<Buffer> {
  try {
    const pacer = createPacer(options.bytesPerSecondMax);
    let archives = 0;
    for (;;) {
      const { type, body } = await connection.next();
      if (type === 'Z') return;
      if (type !== 'd') continue;
      // Within the copied data: n a new archive, d its bytes, p progress.
      if (body[0] === 0x6e && ++archives > 1) throw new Error('more than one archive');
      if (body[0] !== 0x64) continue;
      yield body.subarray(1);
      await pacer.pass(body.length);
    }
  } catch (error) {
    throw toSnapshotError(error, 'transferFailed');
  }
}

function toSnapshotError(error: unknown, code: SnapshotErrorCode): SnapshotError {
  if (error instanceof SnapshotError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const damage = damageIn(error);
  if (damage !== null)
    return new SnapshotError('sourceDamaged', `the source is damaged: ${damage}`, { cause: error });
  const busy = sqlStateOf(error)?.startsWith('53') ?? false;
  return new SnapshotError(busy && code === 'sourceUnavailable' ? 'sourceBusy' : code, message, {
    cause: error,
  });
}
