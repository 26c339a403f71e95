/**
 * The bytes of a backup's tar: first what PostgreSQL's BASE_BACKUP gives, then the chosen WAL that makes it consistent.
 *
 * Responsible for: reading PostgreSQL's answers to the command, and the WAL's files as entries of the tar. When the WAL is chosen is chosen.ts, what of a file is wal-files.ts.
 */
import { open } from '../account-files.ts';
import { join } from 'node:path';
import { historyName, type Lsn, parseLsn, segmentBytes, type Timeline } from '../../../wal/lsn.ts';
import type { WalPosition } from '../../../wal/position.ts';
import { timelineFile } from '../../../wal/timeline-file.ts';
import { CopyError } from '../../../ports/copy.ts';
import { type Chosen, untilChosen } from '../copy/chosen.ts';
import { createPacer } from '../copy/pacer.ts';
import { bytesToCopy, keepChosen, type WalFile, walFilesFrom } from '../copy/wal-files.ts';
import { encodeDirectoryState } from '../directory-state.ts';
import type { ReplicationConnection } from './replication-connection.ts';
import { encodeHeader, paddingAfter } from './tar-header.ts';

export interface BackupTarOptions extends Chosen {
  readonly dataDir: string;
  /** Asked again and again while a backup is made; null: as fast as it goes. */
  readonly bytesPerSecondMax: () => number | null;
}

/** Where replay of the backup begins. */
export interface TarBegin {
  readonly redo: Lsn;
  readonly timeline: Timeline;
}

/** Of a result row with a position and a timeline. @throws Error if it is none */
export function readPosition(row: readonly (string | null)[] | undefined): TarBegin {
  const [lsn, timeline] = row ?? [];
  return { redo: parseLsn(lsn ?? ''), timeline: Number(timeline) as Timeline };
}

/** A DataRow message. */
export function readRow(body: Buffer): (string | null)[] {
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

const walChunkBytes = 256 * 1024;

export class BackupTar {
  private readonly options: BackupTarOptions;
  private readonly connection: ReplicationConnection;
  private readonly ended: AbortSignal;
  private readonly begin: TarBegin;
  private readonly pacer: ReturnType<typeof createPacer>;
  /** Told by PostgreSQL at its end. */
  private stop: Lsn | null = null;

  constructor(
    options: BackupTarOptions,
    connection: ReplicationConnection,
    ended: AbortSignal,
    begin: TarBegin,
  ) {
    this.options = options;
    this.connection = connection;
    this.ended = ended;
    this.begin = begin;
    this.pacer = createPacer(options.bytesPerSecondMax);
  }

  /** Returns only after PostgreSQL has said that the backup is whole. */
  async *files(): AsyncGenerator<Buffer> {
    let archives = 0;
    for (;;) {
      const { type, body } = await this.connection.next();
      if (type === 'Z') return;
      if (type === 'D') this.stop = readPosition(readRow(body)).redo;
      if (type !== 'd') continue;
      // Within the copied data: n a new archive, d its bytes, p progress.
      if (body[0] === 0x6e && ++archives > 1) throw new Error('more than one archive');
      if (body[0] !== 0x64) continue;
      yield body.subarray(1);
      await this.pacer.pass(body.length);
    }
  }

  /** Returns the state that the backup has. */
  async *wal(): AsyncGenerator<Buffer, string> {
    if (this.stop === null) throw new Error('PostgreSQL did not say where the backup ends');
    const durable = await untilChosen(this.stop, this.options, this.ended);
    for (const file of walFilesFrom(this.begin.redo, durable.position)) yield* this.walFile(file);
    yield* this.histories(durable.position);
    return encodeDirectoryState({ role: { kind: 'standby' }, ...durable });
  }

  private async *walFile(file: WalFile): AsyncGenerator<Buffer> {
    yield encodeHeader(`pg_wal/${file.name}`, segmentBytes);
    const handle = await open(join(this.options.dataDir, 'pg_wal', file.name), 'r');
    const bytes = bytesToCopy(file);
    const keep = keepChosen(file);
    try {
      for (let from = 0; from < segmentBytes; from += walChunkBytes) {
        const chunk = Buffer.alloc(walChunkBytes);
        const wanted = Math.max(0, Math.min(walChunkBytes, bytes - from));
        const { bytesRead } = await handle.read(chunk, 0, wanted, from);
        if (bytesRead < wanted) throw new CopyError('transferFailed', `${file.name} ends too early`);
        keep(chunk.subarray(0, wanted), from);
        yield chunk;
        await this.pacer.pass(wanted);
      }
    } finally {
      await handle.close();
    }
  }

  private *histories(position: WalPosition): Generator<Buffer> {
    for (const { timeline } of position.forks) {
      if (timeline < this.begin.timeline) continue;
      const text = Buffer.from(timelineFile(position, timeline));
      const padding = Buffer.alloc(paddingAfter(text.length));
      yield Buffer.concat([encodeHeader(`pg_wal/${historyName(timeline)}`, text.length), text, padding]);
    }
  }
}
