/**
 * A request outside of a block that the gateway has PostgreSQL run in a block of its own: a Query of one statement with the question for its transaction's id ahead of it; or reads that are sent again, and must not write.
 *
 * Responsible for: the messages around the request, and for that the client is told what the request alone would have it told: a tag behind the commit, and one ReadyForQuery. BEGIN is sent by messages without a Sync: if it fails PostgreSQL passes over
 * all the rest, so that the request never runs without its block.
 */
import { endsSession, readErrorFields, statusOf } from '../../../pgwire/backend-messages.ts';
import { headerBytes } from '../../../pgwire/frame-splitter.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import { back, type TransactionStatus } from '../../../pgwire/message-types.ts';
import { assigning, calledId, callOf, type IdListener, isOfRequest } from './id-question.ts';

const own = 'barista_block';

/** By messages: a Query would end the client's statement without a name. */
function runs(sql: string): Buffer {
  return send.runsAs(own, sql);
}

/** What is sent ahead of a Query whose transaction is to be known, and behind it when it is. */
export const askingBlock = {
  ahead: Buffer.concat([runs('BEGIN'), callOf(assigning.oid)]),
  behind: send.query('COMMIT'),
};
/** What is sent around reads. */
export const readingBlock = {
  ahead: runs('BEGIN READ ONLY'),
  behind: Buffer.concat([runs('COMMIT'), send.sync]),
};

/** What is being answered. */
type Stage = 'begin' | 'passedOver' | 'question' | 'request' | 'commit';

export class HiddenBlock {
  /** The last CommandComplete, which the client has not been told. While there is one every message has to be shown to this. */
  tag: Buffer | null = null;
  /** The client was told an error, behind which there is only ReadyForQuery. */
  toldError = false;
  /** It may not write. */
  readonly reads: boolean;
  private readonly listener: IdListener;
  private stage: Stage = 'begin';
  private closed = 0;

  /** `reads`: it is a reading block, and no id is asked. */
  constructor(listener: IdListener, reads = false) {
    this.listener = listener;
    this.reads = reads;
  }

  /** PostgreSQL is at what the client has not sent. What is said at the commit may be of the request. */
  get isAtOwn(): boolean {
    return this.stage === 'begin' || this.stage === 'question';
  }

  /** A message of the answer: whether the client is told, and what it is told ahead of it. */
  take(type: number, message: Buffer): { readonly tells: boolean; readonly ahead: Buffer | null } {
    if (type === back.errorResponse) return this.error(message);
    const { stage } = this;
    if (type === back.readyForQuery) return this.ready(statusOf(message[headerBytes]!));
    if (stage === 'request') return this.answer(type, message);
    if (stage === 'commit')
      return type === back.commandComplete ? { tells: false, ahead: this.takeTag() } : untold;
    if (stage === 'begin' && type === back.closeComplete) this.closed += 1;
    if (this.closed === 2 && stage === 'begin') this.stage = this.reads ? 'request' : 'question';
    if (stage === 'question' && type === back.functionCallResponse) this.listener.id(calledId(message));
    return untold;
  }

  private answer(type: number, message: Buffer): { readonly tells: boolean; readonly ahead: Buffer | null } {
    const ahead = this.takeTag();
    const isTag = type === back.commandComplete;
    if (isTag) this.tag = Buffer.from(message);
    return { tells: !isTag, ahead };
  }

  private takeTag(): Buffer | null {
    const { tag } = this;
    this.tag = null;
    return tag;
  }

  private ready(status: TransactionStatus): { readonly tells: boolean; readonly ahead: Buffer | null } {
    if (this.stage === 'commit' || (this.stage === 'passedOver' && status === 'I')) return told;
    // BEGIN had succeeded, and what failed is behind it.
    if (this.stage === 'passedOver') this.listener.rollBack();
    this.stage = this.stage === 'question' ? 'request' : 'commit';
    return untold;
  }

  private error(message: Buffer): { readonly tells: boolean; readonly ahead: Buffer | null } {
    const fields = readErrorFields(message);
    if (endsSession(fields)) return told;
    const { stage } = this;
    // The block had failed before the request.
    if (this.toldError) return untold;
    if (stage === 'request') {
      this.toldError = true;
      return { tells: true, ahead: this.takeTag() };
    }
    this.tag = null;
    if (stage === 'commit') {
      this.toldError = true;
      return told;
    }
    const sqlState = fields.get('C') ?? '';
    if (isOfRequest(sqlState) && this.listener.failsRequest(fields, stage === 'begin')) {
      this.toldError = true;
      if (stage === 'begin') this.stage = 'passedOver';
      return told;
    }
    this.listener.failed(sqlState);
    return untold;
  }
}

const told = { tells: true, ahead: null } as const;
const untold = { tells: false, ahead: null } as const;
