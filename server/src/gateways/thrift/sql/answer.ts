/**
 * Gathers what PostgreSQL answers to one request: columns, rows as tuples of Thrift, the tag, the error.
 *
 * Responsible for: the bounds on what is gathered. Pure. Invariant: no more than `bytesMax` is held of any answer; what is beyond is counted as too long and thrown away.
 */
import {
  commandTag,
  type ErrorFields,
  type GatewayError,
  readErrorFields,
} from '../../../pgwire/backend-messages.ts';
import { headerBytes } from '../../../pgwire/frame-splitter.ts';
import { back } from '../../../pgwire/message-types.ts';
import { tupleOf } from '../codec/tuples.ts';

export interface Column {
  readonly name: Buffer;
  readonly type: number;
}

/** Why no more is gathered. */
export type Refusal = 'tooLong' | 'noMemory' | 'copy';

/** Asks for memory; false: there is none left. */
export type TakeBytes = (bytes: number) => boolean;

export class Answer {
  columns: readonly Column[] = [];
  readonly tuples: Buffer[] = [];
  bytes = 0;
  tag: string | null = null;
  error: GatewayError | null = null;
  refusal: Refusal | null = null;
  private readonly bytesMax: number;
  private readonly take: TakeBytes;

  constructor(bytesMax: number, take: TakeBytes) {
    this.bytesMax = bytesMax;
    this.take = take;
  }

  /** `frame`: whole, or cut if `isCut`. */
  add(type: number, frame: Buffer, isCut: boolean): void {
    switch (type) {
      case back.rowDescription:
        if (isCut) this.refuse('tooLong');
        else this.columns = readColumns(frame);
        return;
      case back.dataRow:
        this.addRow(frame, isCut);
        return;
      case back.commandComplete:
        this.tag = commandTag(frame);
        return;
      case back.emptyQueryResponse:
        this.tag = '';
        return;
      case back.errorResponse:
        // The first is the cause of what follows.
        this.error ??= errorOf(readErrorFields(frame));
        return;
      case back.copyInResponse:
      case back.copyOutResponse:
        this.refuse('copy');
        return;
      default:
    }
  }

  private addRow(frame: Buffer, isCut: boolean): void {
    if (this.refusal !== null) return;
    const tuple = isCut ? null : tupleOf(frame.subarray(headerBytes));
    if (tuple === null || this.bytes + tuple.length > this.bytesMax) {
      this.refuse('tooLong');
      return;
    }
    if (!this.take(tuple.length)) {
      this.refuse('noMemory');
      return;
    }
    this.bytes += tuple.length;
    this.tuples.push(tuple);
  }

  private refuse(why: Refusal): void {
    this.refusal ??= why;
    this.tuples.length = 0;
  }
}

export function errorOf(fields: ErrorFields): GatewayError {
  const text = (letter: string): string | undefined => {
    const value = fields.get(letter);
    return value === undefined ? undefined : Buffer.from(value, 'latin1').toString('utf8');
  };
  const [detail, hint] = [text('D'), text('H')];
  return {
    sqlState: text('C') ?? 'XX000',
    message: text('M') ?? 'unknown error',
    ...(detail === undefined ? {} : { detail }),
    ...(hint === undefined ? {} : { hint }),
  };
}

function readColumns(frame: Buffer): readonly Column[] {
  const columns: Column[] = [];
  let at = headerBytes + 2;
  for (let index = frame.readUInt16BE(headerBytes); index > 0; index -= 1) {
    const end = frame.indexOf(0, at);
    columns.push({ name: Buffer.from(frame.subarray(at, end)), type: frame.readUInt32BE(end + 7) });
    at = end + 19;
  }
  return columns;
}

/** How many rows a tag tells of. */
export function rowsOfTag(tag: string): number {
  return Math.min(Number(/ (\d+)$/.exec(tag)?.[1] ?? 0), 2 ** 31 - 1);
}
