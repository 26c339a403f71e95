/**
 * Has a client's next statement fail behind a change of leader: in the place of a transaction that is lost (`block`), or of a session's state (`lost`). With `batch` PostgreSQL has been sent already what will fail. With `chain` the
 * client knows that its block has failed, and only what would begin another one like it must fail.
 *
 * Responsible for: what PostgreSQL is sent in the place of what the client sends, until it is certain to answer with an error, which the client is told in other words. All the rest PostgreSQL does itself: for `block` its session
 * is in a block that has failed, in which it refuses everything but what ends the block. ROLLBACK passes; a COMMIT, which it would answer with success, must fail, and so must ROLLBACK AND CHAIN: the new block would be like this one, and not
 * like the one that is lost, which may have been serializable.
 */
import { errorResponse, type GatewayError } from '../../../pgwire/backend-messages.ts';
import type { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import { front } from '../../../pgwire/message-types.ts';
import { kindOfBeginning, kindOfStatement } from '../codec/single-statement.ts';
import type { StatementKind } from '../../../pgwire/statement-kinds.ts';
import { shapeOf } from '../../../pgwire/text-shape.ts';
import type { RequestTracker } from '../session/request-tracker.ts';

/** Outside of a block it fails, and inside, too, for there is no such savepoint. */
const failing = 'ROLLBACK TO SAVEPOINT barista_moved';
const failingQuery = send.query(failing);
const failingExtended = send.bind({ portal: '', statement: 'barista_moved' });
const rollback = send.query('ROLLBACK');
const nothing = Buffer.alloc(0);

/** Brings a session of PostgreSQL into a block that has failed. It is answered with an error and ReadyForQuery. */
export const failedBlock = send.query(`BEGIN; ${failing}`);

/** Has a batch fail that the client has begun. */
export const failBatch = failingExtended;

type Mode = 'block' | 'lost' | 'batch' | 'chain';

export class FailedBlock {
  private readonly mode: Mode;
  private readonly error: GatewayError;
  private readonly tracker: Pick<RequestTracker, 'rules' | 'prepared' | 'portals'>;
  /** It is not certain yet that PostgreSQL will say an error. */
  private watches: boolean;
  /** The error has not been told. */
  private untold = true;
  /** What is left of the message is not passed on. */
  private passesOver = false;
  /** The block is to be ended behind the batch; and it has been. */
  private endsAtSync = false;
  private ended = false;
  /** With `chain`: ReadyForQuery messages that come before the answer to what is sent next; and, of those, before the error that is told. */
  private owed = 0;
  private before = 0;

  /** `owed`: of answers that are under way. */
  constructor(mode: Mode, error: GatewayError, tracker: FailedBlock['tracker'], owed = 0) {
    this.mode = mode;
    this.watches = mode !== 'batch';
    this.error = error;
    this.tracker = tracker;
    this.owed = owed;
    this.untold = mode !== 'chain';
  }

  /** It is of use only as long as the block has not been ended. */
  get isOfBlock(): boolean {
    return this.mode === 'chain';
  }

  /** All is told, and nothing is left to do. */
  get isOver(): boolean {
    return !this.watches && !this.untold && !this.ended && !this.endsAtSync && !this.passesOver;
  }

  /** A part of a message of the client: what PostgreSQL is sent. */
  sent(part: FrameSplitter, chunk: Buffer): Buffer {
    if (!part.first && this.passesOver) {
      if (part.last) this.passesOver = false;
      return nothing;
    }
    const bytes = chunk.subarray(part.start, part.end);
    const sent = this.instead(part, chunk, bytes);
    if (part.last && isAnswered(part.type)) this.owed += 1;
    return sent;
  }

  private instead(part: FrameSplitter, chunk: Buffer, bytes: Buffer): Buffer {
    if (this.endsAtSync && part.type === front.sync && part.last) {
      this.endsAtSync = false;
      this.ended = true;
      return Buffer.concat([bytes, rollback]);
    }
    if (!this.watches || !part.first) return bytes;
    const instead = this.mode === 'lost' ? this.fail(part.type) : this.inBlock(part, chunk);
    if (instead === null) return bytes;
    this.watches = false;
    this.untold = true;
    this.before = this.owed;
    this.passesOver = !part.last;
    return instead;
  }

  /** PostgreSQL has said an error: in which words the client is told; null: in its own. */
  told(): Buffer | null {
    if (!this.untold || this.before > 0) return null;
    this.untold = false;
    return errorResponse('ERROR', this.error);
  }

  /** PostgreSQL is ready. False: the client is not told, nor anything else up to the next time. */
  ready(): boolean {
    this.owed -= 1;
    if (this.before > 0) {
      this.before -= 1;
      return true;
    }
    if (this.ended && !this.untold) {
      this.ended = false;
      return false;
    }
    return true;
  }

  private fail(type: number): Buffer | null {
    if (type === front.query || type === front.functionCall) return failingQuery;
    return isExtended(type) ? failingExtended : null;
  }

  /** Null: it passes. */
  private inBlock(part: FrameSplitter, chunk: Buffer): Buffer | null {
    switch (part.type) {
      case front.query: {
        const kind = this.kindOfQuery(part, chunk);
        if (!this.mustFail(kind)) return this.pass(kind);
        this.ended = true;
        return Buffer.concat([failingQuery, rollback]);
      }
      case front.parse:
        return this.pass(this.kindOfParse(part, chunk));
      case front.bind:
        return this.pass(this.tracker.prepared.bind(payloadOf(part, chunk))?.kind ?? 'plain');
      case front.execute: {
        const kind = this.tracker.portals.execute(payloadOf(part, chunk));
        if (kind === 'rollback') this.leave();
        if (!this.mustFail(kind)) return this.pass(kind);
        this.endsAtSync = true;
        return failingExtended;
      }
      case front.functionCall:
        return this.pass('plain');
      default:
        return null;
    }
  }

  /** Of a message that PostgreSQL gets as it is. */
  private pass(kind: StatementKind): null {
    if (this.mode === 'chain') return null;
    if (kind === 'plain' || kind === 'procedure' || kind === 'alone' || kind === 'begin')
      this.watches = false;
    return null;
  }

  private mustFail(kind: StatementKind): boolean {
    return this.mode === 'chain' ? kind === 'commitChain' || kind === 'rollbackChain' : endsBlock(kind);
  }

  private kindOfQuery(part: FrameSplitter, chunk: Buffer): StatementKind {
    const { payload, end } = part;
    const kind = part.last
      ? shapeOf(chunk, payload, end, this.tracker.rules).first
      : kindOfBeginning(chunk, payload, end);
    if (kind === 'rollback') this.leave();
    return kind;
  }

  private kindOfParse(part: FrameSplitter, chunk: Buffer): StatementKind {
    const { payload, end } = part;
    const text = send.stringEnd(chunk, payload, end) + 1;
    if (text > end) return 'unclear';
    return part.last
      ? kindOfStatement(chunk, text, send.stringEnd(chunk, text, end), this.tracker.rules)
      : kindOfBeginning(chunk, text, end);
  }

  /** The client itself ends the block: it need not be told what it has lost. */
  private leave(): void {
    if (this.mode === 'chain') return;
    this.watches = false;
    this.untold = false;
  }
}

/** PostgreSQL would answer with success where it must not, or that is not clear. */
function endsBlock(kind: StatementKind): boolean {
  return (
    kind === 'commit' ||
    kind === 'commitChain' ||
    kind === 'rollbackChain' ||
    kind === 'prepare' ||
    kind === 'unclear'
  );
}

function isAnswered(type: number): boolean {
  return type === front.query || type === front.functionCall || type === front.sync;
}

function isExtended(type: number): boolean {
  return (
    type === front.parse ||
    type === front.bind ||
    type === front.describe ||
    type === front.execute ||
    type === front.close
  );
}

function payloadOf(
  { payload, end, last }: FrameSplitter,
  bytes: Buffer,
): {
  bytes: Buffer;
  from: number;
  to: number;
  isWhole: boolean;
} {
  return { bytes, from: payload, to: end, isWhole: last };
}
