/**
 * A digest of an answer by which replicas notice that one of them differs: tags, rows, SQLSTATEs. Pure.
 *
 * The order of the rows of one statement does not count, for without ORDER BY that is nobody's promise; nor do words for people, settings, and ids of objects, which differ from one database to the next;
 * nor do rows of a sequence with `log_cnt`, which a checkpoint changes. An answer with a part of a statement's rows (FETCH, an Execute with a limit) has no digest: which rows come first is nobody's promise either.
 */
import { crcAdd, crcEnd, crcStart } from '../../wal/record/crc32c.ts';
import { readErrorFields } from '../../pgwire/backend-messages.ts';
import { FrameSplitter, headerBytes } from '../../pgwire/frame-splitter.ts';
import { back } from '../../pgwire/message-types.ts';

export class AnswerDigest {
  private crc = crcStart;
  private rows = 0;
  private low = 0;
  private high = 0;
  private isOfSequence = false;
  private hasPart = false;

  add(message: Buffer): void {
    switch (message[0]!) {
      case back.rowDescription:
        this.isOfSequence = message.includes(logCount);
        return;
      case back.dataRow:
      case copyData: {
        if (this.isOfSequence) return;
        const one = crcEnd(crcAdd(crcStart, message, 0, message.length));
        // A second number that is not linear in the first: two rows that change places with two others do not go unnoticed.
        const other = Math.imul(one ^ 0x9e37_79b9, 0x85eb_ca6b) ^ (one >>> 13);
        this.rows += 1;
        this.low = (this.low + one) >>> 0;
        this.high = (this.high + Math.imul(other, other | 1)) >>> 0;
        return;
      }
      case back.portalSuspended:
        this.hasPart = true;
        return;
      case back.commandComplete:
        this.hasPart ||= partTags.some((tag) => message.indexOf(tag) === headerBytes);
        this.close();
        this.take(message);
        return;
      case back.emptyQueryResponse:
      case back.readyForQuery:
        this.close();
        this.take(message);
        return;
      case back.errorResponse:
        this.close();
        this.take(Buffer.from(`E${readErrorFields(message).get('C') ?? ''}`, 'latin1'));
        return;
      default:
    }
  }

  /** Null: the answer is not to be compared. */
  end(): string | null {
    this.close();
    return this.hasPart ? null : crcEnd(this.crc).toString(16).padStart(8, '0');
  }

  private close(): void {
    if (this.rows > 0) this.take(Buffer.from(`${this.rows} ${this.low} ${this.high}`, 'latin1'));
    this.isOfSequence = false;
    this.rows = 0;
    this.low = 0;
    this.high = 0;
  }

  private take(bytes: Buffer): void {
    this.crc = crcAdd(this.crc, bytes, 0, bytes.length);
  }
}

/** Of an answer that PostgreSQL did not give. */
export function digestOf(answer: Buffer): string | null {
  const digest = new AnswerDigest();
  const splitter = new FrameSplitter(answer.length);
  splitter.feed(answer);
  while (splitter.next()) digest.add(answer.subarray(splitter.start, splitter.end));
  return digest.end();
}

const logCount = Buffer.from('log_cnt\0');
const partTags = ['FETCH ', 'MOVE '].map((tag) => Buffer.from(tag));
const copyData = 'd'.charCodeAt(0);
