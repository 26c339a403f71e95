/**
 * Where the units of the specification's WAL are in bytes: each is a record of WAL as PostgreSQL writes it, or the part of one up to the end of its page.
 *
 * Responsible for: writing them, and for translating positions. A timeline and a position on it name one unit (TimelinesUnshared); what a crash took before anybody saw it is written anew.
 */
import { segmentBytes, walPageBytes, type Lsn, type Timeline } from '../../../../server/src/wal/lsn.ts';
import { encodeRecord, type NewRecord } from '../../../../server/src/wal/record/testing/encode-record.ts';
import { recordOf } from '../../../../server/src/payload/wal/testing/model-records.ts';
import { longHeaderBytes } from '../../../../server/src/wal/record/page-header.ts';
import { wholeEnd, type WalUnit } from './payload-state.ts';

interface Written {
  /** Where its record begins; its bytes begin where the unit before ends. */
  readonly record: Lsn;
  readonly end: Lsn;
  readonly bytes: Buffer;
}

/** Every transaction id of the code is so much above the specification's. */
export const xidsBefore = 699;
const firstRecord = (segmentBytes + longHeaderBytes) as Lsn;
const behindThePage = 100;

export class WalBook {
  /** Of the database's first checkpoint, in front of all units. */
  private readonly base: Lsn;
  private readonly system: bigint;
  private readonly units = new Map<string, Written>();

  constructor(base: Lsn, system: bigint) {
    this.base = base;
    this.system = system;
  }

  /** Where the first `count` units of this WAL end. */
  lsn(wal: readonly WalUnit[], count = wal.length): Lsn {
    return count === 0 ? this.base : this.of(wal, count).end;
  }

  /** The bytes of the units behind the first `from`, up to `to`. */
  bytes(wal: readonly WalUnit[], from: number, to: number): Buffer {
    const parts: Buffer[] = [];
    for (let n = from + 1; n <= to; n++) parts.push(this.of(wal, n).bytes);
    return Buffer.concat(parts);
  }

  /** So many units of one timeline behind the first `from`. */
  range(timeline: number, from: number, count: number): { readonly start: Lsn; readonly data: string } {
    const units = Array.from(
      { length: count },
      (_, index) => this.units.get(`${timeline} ${from + index + 1}`)!,
    );
    const { end, bytes } = units[0]!;
    return {
      start: (end - bytes.length) as Lsn,
      data: Buffer.concat(units.map((unit) => unit.bytes)).toString('hex'),
    };
  }

  private of(wal: readonly WalUnit[], count: number): Written {
    const found = this.units.get(`${wal[count - 1]!.timeline} ${count}`);
    if (found === undefined)
      throw new Error(`nobody has written unit ${count} of timeline ${wal[count - 1]!.timeline}`);
    return found;
  }

  /** The units of `wal` behind the first `from` are one record, which is written now. */
  write(wal: readonly WalUnit[], from: number): Buffer {
    const timeline = wal[from]!.timeline as Timeline;
    const before = wal.slice(0, from);
    const whole = wholeEnd(before);
    const previous = whole === 0 ? firstRecord : this.of(wal, whole).record;
    const at = this.lsn(before);
    const { bytes, start, end } = encodeRecord(
      { at, previous, timeline, system: this.system },
      contentOf(wal.slice(from), at),
    );
    const halves = wal.length - from === 2 ? [pageEnd(at), end] : [end];
    let done = at;
    for (const [index, half] of halves.entries()) {
      const part = Buffer.from(bytes.subarray(done - at, half - at));
      this.units.set(`${timeline} ${from + index + 1}`, { record: start, end: half, bytes: part });
      done = half;
    }
    return bytes;
  }
}

function pageEnd(at: Lsn): Lsn {
  return (at - (at % walPageBytes) + walPageBytes) as Lsn;
}

function contentOf(units: readonly WalUnit[], at: Lsn): NewRecord {
  const { request, xid } = units[0]!;
  if (request === 'record') return recordOf({ kind: 'filler', bytes: 16 });
  if (request === 'overwrite') return recordOf({ kind: 'givenUp' });
  const commit = recordOf({ kind: 'commit', xid: BigInt(xid + xidsBefore) });
  return units.length === 1 ? commit : { ...commit, main: Buffer.alloc(pageEnd(at) - at + behindThePage) };
}
