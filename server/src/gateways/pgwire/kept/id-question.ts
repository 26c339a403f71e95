/**
 * Asks PostgreSQL for the id of a transaction ahead of the request that commits it, in the same transaction.
 *
 * Pure. Ahead of a Query in a block it is a call of the function, which has an answer of its own, ReadyForQuery too. Ahead of a batch it is messages of the extended protocol without a Sync: what follows them runs in their transaction. They have names
 * of their own, and are closed behind it: what has no name is the client's. A Query outside of a block is in hidden-block.ts.
 * Where the request begins its transaction, the function is asked that gives it an id: what changes no row has one in vain, which costs a record in the WAL and no wait.
 */
import {
  endsSession,
  type ErrorFields,
  firstColumn,
  frameOf,
  readErrorFields,
} from '../../../pgwire/backend-messages.ts';
import { headerBytes } from '../../../pgwire/frame-splitter.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import { back, front } from '../../../pgwire/message-types.ts';
import type { OwnAnswer, OwnTaken } from './upstream-reader.ts';

export interface IdQuestionKind {
  readonly form: 'call' | 'batch';
  /** The transaction gets an id if it has none. */
  readonly assigns: boolean;
}

const own = 'barista_transaction_id';
export const assigning = { oid: 5059, sql: 'SELECT pg_catalog.pg_current_xact_id()' };
const looking = { oid: 5060, sql: 'SELECT pg_catalog.pg_current_xact_id_if_assigned()' };

const questions = {
  call: { assigning: callOf(assigning.oid), looking: callOf(looking.oid) },
  batch: { assigning: batchOf(assigning.sql), looking: batchOf(looking.sql) },
} as const;

export function idQuestion({ form, assigns }: IdQuestionKind): Buffer {
  return questions[form][assigns ? 'assigning' : 'looking'];
}

/** No arguments, the result as text. */
export function callOf(oid: number): Buffer {
  const payload = Buffer.alloc(10);
  payload.writeInt32BE(oid, 0);
  return frameOf(front.functionCall, payload);
}

/** The answer to the last Close ends it; it is to come before PostgreSQL goes on. */
function batchOf(sql: string): Buffer {
  return Buffer.concat([send.runsAs(own, sql), send.flush]);
}

export interface IdListener {
  /** Null: it has none. */
  readonly id: (xid: bigint | null) => void;
  /** PostgreSQL refuses it with this SQLSTATE, which is none of the request's, and passes over the request. */
  readonly failed: (sqlState: string) => void;
  /** It failed for what the request is to hear, which PostgreSQL passes over. `passesOver`: so is all up to a Sync that nobody has sent. False: that cannot be told as the error of the request. */
  readonly failsRequest: (error: ErrorFields, passesOver: boolean) => boolean;
  /** The block of the gateway's own is open, and nothing ends it. */
  readonly rollBack: () => void;
}

/** The request would hear the same without the question: it was cancelled, by the client or its statement_timeout, which did not know of the question; or the lock table is full, and its transaction gets no id. */
export function isOfRequest(sqlState: string): boolean {
  return sqlState === queryCanceled || sqlState === outOfMemory;
}

const queryCanceled = '57014';
const outOfMemory = '53200';

const over: OwnTaken = { client: null };

export class IdAnswer implements OwnAnswer {
  private readonly form: IdQuestionKind['form'];
  private readonly listener: IdListener;
  private readonly isBehind: boolean;
  private closed = 0;
  /** The client was told an error, and is told nothing of the request but ReadyForQuery. */
  private hasFailed = false;

  /** `form`: `call` in a block that may have failed by then, too. `isBehind`: the request was answered before. */
  constructor(form: IdQuestionKind['form'], listener: IdListener, isBehind = false) {
    this.form = form;
    this.isBehind = isBehind;
    this.listener = listener;
  }

  take(type: number, message: Buffer | null): OwnTaken {
    switch (type) {
      case back.errorResponse:
        return this.failed(message);
      case back.functionCallResponse:
        this.listener.id(message === null ? null : calledId(message));
        return 'goesOn';
      case back.dataRow:
        this.listener.id(idOf(message === null ? null : firstColumn(message)));
        return 'goesOn';
      case back.readyForQuery:
        if (this.hasFailed) return { client: null, skips: true };
        return this.form === 'call' ? over : 'notMine';
      case back.closeComplete:
        this.closed += 1;
        return this.closed === 2 ? over : 'goesOn';
      default:
        return 'goesOn';
    }
  }

  private failed(message: Buffer | null): OwnTaken {
    const fields = message === null ? null : readErrorFields(message);
    // The end of the session is no answer to this.
    if (fields === null || endsSession(fields)) return 'notMine';
    const sqlState = fields.get('C') ?? '';
    if (!isOfRequest(sqlState) || !this.listener.failsRequest(fields, false)) {
      this.listener.failed(sqlState);
      return 'goesOn';
    }
    // PostgreSQL passes over the rest of the batch, as if it had failed itself.
    if (this.form === 'batch') return 'notMine';
    if (this.isBehind) return 'goesOn';
    this.hasFailed = true;
    return 'tells';
  }
}

/** Of a FunctionCallResponse. */
export function calledId(message: Buffer): bigint | null {
  const from = headerBytes + 4;
  return idOf(message.length <= from ? null : message.toString('latin1', from));
}

function idOf(text: string | null): bigint | null {
  return text !== null && /^\d{1,20}$/.test(text) ? BigInt(text) : null;
}
