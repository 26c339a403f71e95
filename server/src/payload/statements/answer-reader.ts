/**
 * Reads PostgreSQL's answer to a planned request: what the client is told, without what answers our own messages; whether it failed, and where it stands.
 *
 * Pure. Invariants: what is told is PostgreSQL's, byte for byte, but for the position of an error behind something that was put into the text; no more than `bytesMax` is kept.
 */
import { errorFromFields, readErrorFields, statusOf } from '../../pgwire/backend-messages.ts';
import { headerBytes } from '../../pgwire/frame-splitter.ts';
import { back, type TransactionStatus } from '../../pgwire/message-types.ts';
import { AnswerDigest } from './answer-digest.ts';
import type { Expected, Insertion, RequestPlan } from './request-plan.ts';

const copyOutData = 'd'.charCodeAt(0);
const copyOutDone = 'c'.charCodeAt(0);
const parameterDescription = 't'.charCodeAt(0);

export class AnswerReader {
  status: TransactionStatus = 'I';
  /** The last error's SQLSTATE. */
  sqlState: string | null = null;
  /** Whether that was the answer to a message of our own, such as the advance of the pointer. */
  failedAtOwn = false;
  /** Nothing was told before the error. */
  failedAtOnce = false;
  /** More than is kept. */
  isTooLong = false;
  /** Statements that were prepared, and portals that were bound, by the order of their messages. */
  parsed = 0;
  bound = 0;
  /** Settings that PostgreSQL has told; kept whatever becomes of the answer. */
  readonly parameters: Buffer[] = [];
  private readonly plan: Pick<RequestPlan, 'expected' | 'insertions'>;
  private readonly column: string;
  private readonly bytesMax: number;
  private readonly digest = new AnswerDigest();
  private told: Buffer[] = [];
  private bytes = 0;
  private at = 0;
  private isInOwnRows = false;
  private ownRows = 0;
  /** Where the tag of the last statement stands in what is told: PostgreSQL tells it behind the commit. */
  private lastTag: number | null = null;

  constructor(plan: Pick<RequestPlan, 'expected' | 'insertions'>, column: string, bytesMax: number) {
    this.plan = plan;
    this.column = column;
    this.bytesMax = bytesMax;
  }

  /** True behind ReadyForQuery. `copies`: PostgreSQL waits for data. */
  take(message: Buffer): 'goesOn' | 'copies' | 'ends' {
    const type = message[0]!;
    if (type === back.readyForQuery) {
      this.status = statusOf(message[headerBytes]!);
      this.tell(message);
      return 'ends';
    }
    if (type === back.parameterStatus) this.parameters.push(message);
    if (type === back.noticeResponse || type === back.parameterStatus) {
      this.tell(message);
      return 'goesOn';
    }
    if (type === back.errorResponse) {
      this.error(message);
      return 'goesOn';
    }
    if (!(this.plan.expected === null ? this.isOwnRow(type, message) : this.isOwnAnswer(type)))
      this.tell(message);
    return type === back.copyInResponse ? 'copies' : 'goesOn';
  }

  answer(): Buffer {
    return Buffer.concat(this.told);
  }

  /** Null: it is not to be compared. */
  digestText(): string | null {
    return this.digest.end();
  }

  /** The last message is not told, nor what is told in its place counted. */
  replaceError(error: Buffer): void {
    const index = this.told.findLastIndex(([type]) => type === back.errorResponse);
    if (index >= 0) this.told[index] = error;
  }

  private error(message: Buffer): void {
    const fields = new Map(readErrorFields(message));
    this.sqlState = fields.get('C') ?? '';
    this.failedAtOnce = this.told.every(([type]) => type === back.noticeResponse);
    if (this.lastTag !== null && this.lastTag >= 0) this.told.splice(this.lastTag, 1);
    this.lastTag = null;
    const { expected } = this.plan;
    this.failedAtOwn = expected === null ? this.isInOwnRows : (expected[this.at]?.isOwn ?? false);
    if (expected !== null) while (this.at < expected.length && expected[this.at]!.of !== 'sync') this.at += 1;
    const position = Number(fields.get('P') ?? 0);
    const moved = clientPosition(position, this.plan.insertions);
    if (moved === position) this.tell(message);
    else {
      fields.set('P', String(moved));
      this.tell(errorFromFields(fields));
    }
  }

  /** Of a Query: the rows of our call begin with the name of its column, and end with its tag. */
  private isOwnRow(type: number, message: Buffer): boolean {
    if (this.plan.insertions.length === 0) return false;
    if (type === back.rowDescription) {
      const name = Buffer.from(`${this.column}\0`, 'latin1');
      this.isInOwnRows = message.subarray(headerBytes + 2, headerBytes + 2 + name.length).equals(name);
      if (this.isInOwnRows) this.beginOwnRows();
      return this.isInOwnRows;
    }
    if (!this.isInOwnRows) return false;
    if (type === back.commandComplete) this.isInOwnRows = false;
    return type === back.dataRow || type === back.commandComplete;
  }

  private beginOwnRows(): void {
    const insertion = this.plan.insertions[this.ownRows];
    this.ownRows += 1;
    if (insertion?.isEnd === true)
      this.lastTag = this.told.findLastIndex(
        ([type]) => type === back.commandComplete || type === back.emptyQueryResponse,
      );
  }

  private isOwnAnswer(type: number): boolean {
    const { expected } = this.plan;
    const current = expected![this.at];
    if (current === undefined) return false;
    if (endsAnswer(current, type)) {
      this.at += 1;
      if (!current.isOwn && current.of === 'parse') this.parsed += 1;
      if (!current.isOwn && current.of === 'bind') this.bound += 1;
    }
    return current.isOwn;
  }

  private tell(message: Buffer): void {
    this.digest.add(message);
    const length = message.readInt32BE(1) + 1;
    this.bytes += length;
    // What ends the answer is kept.
    if (this.bytes > this.bytesMax || length > message.length) {
      if (!this.isTooLong) this.told = [];
      this.isTooLong = true;
      return;
    }
    this.told.push(message);
  }
}

function endsAnswer({ of }: Expected, type: number): boolean {
  if (type === copyOutData || type === copyOutDone || type === back.dataRow) return false;
  if (type === back.copyInResponse || type === back.copyOutResponse) return false;
  if (of === 'describe') return type !== parameterDescription;
  return true;
}

/** `position`: from 1 on. */
export function clientPosition(position: number, insertions: readonly Insertion[]): number {
  let shift = 0;
  for (const { at, length } of insertions) {
    if (position > at + shift + length) shift += length;
    else if (position > at + shift) return at + 1;
  }
  return position - shift;
}
