/**
 * Recovery of a modelled PostgreSQL: takes WAL as it comes and does what its whole records say. A primary does it once, when it starts; a standby goes on with it.
 */
import { walPageBytes, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import { pageHeaderBytes } from '../../../wal/record/page-header.ts';
import { RecordReader } from '../../../wal/record/record-reader.ts';
import type { WalFault } from '../../../wal/record/wal-fault.ts';
import { beginWalkAt } from '../../../wal/record/walk-position.ts';
import type { ModelBuffers } from './model-buffers.ts';
import { changeOf, type CheckpointFacts } from './model-records.ts';
import type { TimelineStart, WalFiles } from './wal-files.ts';

export class ModelReplay {
  /** Of the last record. */
  previous: Lsn;
  private replayedTo: Lsn;
  private readonly reader: RecordReader;
  private readonly onCheckpoint: (facts: CheckpointFacts) => void;

  /** `start`: where a record begins, or a page. */
  constructor(buffers: ModelBuffers, start: Lsn, onCheckpoint: (facts: CheckpointFacts) => void) {
    this.previous = start;
    this.replayedTo = start;
    this.onCheckpoint = onCheckpoint;
    this.reader = new RecordReader(
      beginWalkAt(start),
      (record) => {
        const change = changeOf(record, buffers.nextXid);
        buffers.apply(change, record.end);
        this.previous = record.lsn;
        this.replayedTo = record.end;
        if (change.kind === 'checkpoint') this.onCheckpoint(change.facts);
      },
      { checksums: true, keptBytesMax: 64 * 1024 * 1024 },
    );
  }

  /** The end of the last whole record. */
  get replayed(): Lsn {
    return this.replayedTo;
  }

  /** The first byte that was not taken yet. */
  get next(): Lsn {
    return this.reader.next;
  }

  /** What was taken ends where WAL may be cut: with a record or a page. */
  get isAtCut(): boolean {
    return this.next % walPageBytes === 0 || (this.reader.lastRecordEnd ?? 0) >= this.next;
  }

  /** After a fault nothing more is taken. */
  add(bytes: Uint8Array): WalFault | null {
    return this.reader.add(bytes);
  }

  /** The WAL goes on at the end of the last whole record, on another timeline. */
  fork(): void {
    if (this.next !== this.replayedTo) this.reader.fork();
  }
}

const readBytes = 64 * 1024;

/** Replays all whole records that there are. If there is a part of one more, which began on an earlier page: where the first page begins that is missing. */
export function replayFiles(
  replay: ModelReplay,
  wal: WalFiles,
  history: readonly TimelineStart[],
): { readonly goesOnAt: Lsn } | null {
  for (;;) {
    const part = readAlong(wal, history, replay.next, readBytes);
    if (part.length === 0) break;
    const fault = replay.add(part);
    if (fault !== null) break;
  }
  const { replayed, next } = replay;
  const start = (replayed % walPageBytes === 0 ? replayed + pageHeaderBytes(replayed) : replayed) as Lsn;
  const firstPageEnd = (Math.floor(start / walPageBytes) + 1) * walPageBytes;
  // A record that goes on beyond its page: what was written of it stays, and the page that is missing is where the WAL goes on.
  if (next <= start || start + lengthAt(wal, history, start) <= firstPageEnd) return null;
  return { goesOnAt: Math.max(firstPageEnd, next - (next % walPageBytes)) as Lsn };
}

/** Up to the end of the timeline that the first byte is of. */
export function readAlong(
  wal: WalFiles,
  history: readonly TimelineStart[],
  from: Lsn,
  bytesMax: number,
): Buffer {
  const index = history.findLastIndex(({ at }) => at <= from);
  const end = history[index + 1]?.at ?? Number.MAX_SAFE_INTEGER;
  return wal.read(from, timelineAlong(history, from), Math.min(bytesMax, end - from));
}

export function timelineAlong(history: readonly TimelineStart[], lsn: Lsn): Timeline {
  return history.findLast(({ at }) => at <= lsn)!.timeline;
}

/** What the record at `lsn` says of its length; 0: nothing is there. */
function lengthAt(wal: WalFiles, history: readonly TimelineStart[], lsn: Lsn): number {
  const head = readAlong(wal, history, lsn, 4);
  return head.length < 4 ? 0 : head.readUInt32LE(0);
}
