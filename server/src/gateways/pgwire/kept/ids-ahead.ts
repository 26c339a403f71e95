/**
 * Asks for the id of a client's transaction ahead of the request that commits it, where the session's PostgreSQL may die without this process.
 *
 * Responsible for: when that is of use and can be done. Whether a request commits is found by foreseen-commit.ts, how it is asked is in id-question.ts. The id comes back before PostgreSQL begins to commit: a leader that has made a commit record chosen has, but for some microseconds, passed its id on before.
 */
import type { Ballot } from '../../../multipaxos/types/names.ts';
import { type Doubt, readLeadership } from '../codec/doubt-frame.ts';
import type { FrameSplitter } from '../codec/frame-splitter.ts';
import { ForeseenCommit } from './foreseen-commit.ts';
import { askingBlock, HiddenBlock } from './hidden-block.ts';
import { IdAnswer, type IdListener, idQuestion } from './id-question.ts';

export interface IdsAheadListener {
  readonly known: (doubt: Doubt) => void;
  /** PostgreSQL has refused the question, and passes over the request. */
  readonly refused: () => void;
}

/** What goes ahead of a request and behind it, and who takes the answer to that; or who takes the whole answer. */
export interface IdQuestion {
  readonly ahead: Buffer;
  readonly behind: Buffer | null;
  readonly taker: IdAnswer | null;
  readonly block: HiddenBlock | null;
}

const insufficientPrivilege = '42501';

export class IdsAhead {
  /** The session is at another replica. */
  isElsewhere = true;
  private readonly foreseen: ForeseenCommit;
  private readonly listener: IdsAheadListener;
  /** Null: the other gateway has not told. */
  private leadership: Ballot | null = null;
  private mayAsk = true;
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

  /** Of what was sent since `begin`, which ends between two messages. Null: it goes as it is. */
  question(): IdQuestion | null {
    const { leadership } = this;
    const how = this.watches ? this.foreseen.question : null;
    if (how === null || leadership === null || !this.mayAsk) return null;
    const answers: IdListener = {
      id: (xid) => {
        if (xid !== null) this.listener.known({ kind: 'transaction', transaction: { leadership, xid } });
      },
      failed: (sqlState) => {
        if (sqlState === insufficientPrivilege) this.mayAsk = false;
        this.listener.refused();
      },
    };
    if (how === 'block') return { ...askingBlock, taker: null, block: new HiddenBlock(answers) };
    return { ahead: idQuestion(how), behind: null, taker: new IdAnswer(how.form, answers), block: null };
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
