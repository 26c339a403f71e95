/**
 * Asks for the id of a client's transaction ahead of the request that commits it, where the session's PostgreSQL may die without this process.
 *
 * Responsible for: when that is of use and can be done. Whether a request commits is found by foreseen-commit.ts, how it is asked is in id-question.ts. The id comes back before PostgreSQL begins to commit: a leader that has made a commit record chosen has, but for some microseconds, passed its id on before.
 */
import type { Ballot } from '../../../multipaxos/types/names.ts';
import type { ErrorFields } from '../../../pgwire/backend-messages.ts';
import { type Doubt, readLeadership } from '../codec/doubt-frame.ts';
import type { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import { ForeseenCommit } from './foreseen-commit.ts';
import { askingBlock, HiddenBlock } from './hidden-block.ts';
import { IdAnswer, type IdListener, idQuestion } from './id-question.ts';

export interface IdsAheadListener {
  /** `doubt`: null: the transaction has no id. */
  readonly answered: (doubt: Doubt | null) => void;
  /** PostgreSQL has refused the question, and passes over the request. */
  readonly refused: () => void;
  /** See IdListener. */
  readonly failsRequest: IdListener['failsRequest'];
  readonly rollBack: IdListener['rollBack'];
  /** The question behind a request that was answered: it has failed the block. */
  readonly failedBehind: (error: ErrorFields) => boolean;
}

/** What PostgreSQL is sent in the place of a request, and who takes the answer. */
export interface IdQuestion {
  readonly now: readonly Buffer[];
  /** Sent when the id is known: before that nothing is committed. */
  readonly withheld: Buffer | null;
  /** Of the question, which is ahead of the request. */
  readonly taker: IdAnswer | null;
  /** Of the question, which is behind it. */
  readonly later: IdAnswer | null;
  /** Of the whole answer. */
  readonly block: HiddenBlock | null;
}

const insufficientPrivilege = '42501';
const inFailedTransaction = '25P02';

export class IdsAhead {
  /** The session is at another replica. */
  isElsewhere = true;
  private readonly foreseen: ForeseenCommit;
  private readonly listener: IdsAheadListener;
  /** Null: the other gateway has not told. */
  private leadership: Ballot | null = null;
  private mayAsk = true;
  /** The session may act elsewhere: each of its transactions is to have an id when it is committed. */
  actsElsewhere = false;
  private watches = false;

  constructor(
    tracker: ConstructorParameters<typeof ForeseenCommit>[0],
    statements: ConstructorParameters<typeof ForeseenCommit>[1],
    listener: IdsAheadListener,
  ) {
    this.foreseen = new ForeseenCommit(tracker, statements);
    this.listener = listener;
  }

  /** Of the session, as the other gateway has told it; undefined: it has not. */
  under(leadership: string | undefined): void {
    this.leadership = leadership === undefined ? null : readLeadership(leadership);
  }

  /** The client sends. `isFree`: nothing is under way, and something can be put ahead of it. */
  begin(isFree: boolean): void {
    this.watches = isFree && this.isElsewhere;
    if (this.watches) this.foreseen.begin();
  }

  /** A part of a message of it. */
  sent(part: FrameSplitter, chunk: Buffer): void {
    if (this.watches) this.foreseen.sent(part, chunk);
  }

  /** Of the request `bytes`, which is what was sent since `begin`. `isKnown`: its transaction is known already. `mayAct`: it may change something though it has no id. Null: it goes as it is. */
  question(bytes: Buffer, isKnown: boolean, mayAct: boolean): IdQuestion | null {
    const { leadership } = this;
    const how = this.watches && !isKnown ? this.foreseen.question : null;
    if (how === null || leadership === null || !this.mayAsk) return null;
    const usual = { withheld: null, taker: null, later: null, block: null };
    if (how === 'later') {
      const failsRequest = this.listener.failedBehind;
      const later = new IdAnswer('call', { ...this.listenerOf(leadership), failsRequest }, true);
      return { ...usual, now: [bytes, idQuestion({ form: 'call', assigns: false })], later };
    }
    const listener = this.listenerOf(leadership);
    if (how === 'block') {
      const { ahead, behind } = askingBlock;
      return { ...usual, now: [ahead, bytes], withheld: behind, block: new HiddenBlock(listener) };
    }
    const taker = new IdAnswer(how.form, listener);
    const ahead = idQuestion({ ...how, assigns: how.assigns || mayAct || this.actsElsewhere });
    // A batch that is a transaction of its own is committed by its Sync.
    if (!this.foreseen.isAlone) return { ...usual, now: [ahead, bytes], taker };
    const end = bytes.length - send.sync.length;
    return { ...usual, now: [ahead, bytes.subarray(0, end)], withheld: bytes.subarray(end), taker };
  }

  private listenerOf(leadership: Ballot): IdListener {
    return {
      id: (xid) => {
        const doubt =
          xid === null ? null : ({ kind: 'transaction', transaction: { leadership, xid } } as const);
        this.listener.answered(doubt);
      },
      failed: (sqlState) => {
        // The block had failed before.
        if (sqlState === inFailedTransaction) return;
        if (sqlState === insufficientPrivilege) this.mayAsk = false;
        this.listener.refused();
      },
      failsRequest: this.listener.failsRequest,
      rollBack: this.listener.rollBack,
    };
  }

  /** The request that is under way is all that was sent since `begin`, and says that it only reads. */
  get isRead(): boolean {
    return this.watches && this.foreseen.isRead;
  }

  /** Of the request that is under way: all that PostgreSQL says when it has committed it, but for ReadyForQuery; null: that is not known. */
  get answer(): readonly Buffer[] | null {
    return this.watches ? this.foreseen.answer : null;
  }
}
