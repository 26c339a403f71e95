/**
 * The requests of a session that names its transactions, one by one: which of them are wrapped in a transaction block, ahead of which a name is claimed, and which pass as they are.
 *
 * Responsible for: the decision. What is run then is in named-transaction.ts; the extended protocol in named-batch.ts. Takes a request only when the one before it is answered, so the
 * session's state is known.
 */
import { commandComplete, errorResponse } from '../../../../pgwire/backend-messages.ts';
import { headerBytes } from '../../../../pgwire/frame-splitter.ts';
import { front, type TransactionStatus } from '../../../../pgwire/message-types.ts';
import { shapeOf, type TextShape } from '../../../../pgwire/text-shape.ts';
import type { TextRules } from '../../../../pgwire/text-rules.ts';
import { namedTransactionHidden } from '../../errors.ts';
import type { OpenPortals } from '../open-portals.ts';
import type { PreparedKinds } from '../prepared-kinds.ts';
import { clientFlight, ownFlight } from './flight.ts';
import { isCommit, isWrapped, NamedBatch } from './named-batch.ts';
import { NamedTransaction, type Replies } from './named-transaction.ts';
import type { NamedWire } from './named-wire.ts';
import { failBlock } from './own-statements.ts';

export interface NamedRequestsOptions {
  readonly wire: NamedWire;
  readonly prepared: PreparedKinds;
  readonly portals: OpenPortals;
  /** Digests of the texts of prepared statements; null: not known. */
  readonly texts: Map<string, string | null>;
  readonly rules: () => TextRules;
  readonly status: () => TransactionStatus;
  /** The session cannot go on: what it does cannot be done under a name. */
  readonly refuse: () => void;
  /** The client sent another message where it had COPY data to end: PostgreSQL would end the session. */
  readonly violated: () => void;
}

/** What a client may send while PostgreSQL takes its COPY data. */
const amidCopy: ReadonlySet<number> = new Set([
  front.copyData,
  front.copyDone,
  front.copyFail,
  front.flush,
  front.sync,
  front.terminate,
]);

export class NamedRequests {
  private readonly options: NamedRequestsOptions;
  private readonly transaction: NamedTransaction;
  private readonly batch: NamedBatch;

  constructor(options: NamedRequestsOptions) {
    this.options = options;
    this.transaction = new NamedTransaction(options.wire);
    this.batch = new NamedBatch({ ...options, transaction: this.transaction });
  }

  get isIdle(): boolean {
    return this.batch.isNone && this.options.wire.answers.isIdle;
  }

  /** The session may be ended without losing anything that the client has sent: only what it has not sent is awaited. */
  get mayEnd(): boolean {
    return this.isIdle || this.batch.awaitsClient || this.options.wire.answers.takesData;
  }

  /** Prepared statements may stand for other texts from now on. */
  forgetTexts(): void {
    this.batch.forgetTexts();
  }

  /** A whole message of the client; false if it must wait until something is answered. */
  take(frame: Buffer): boolean {
    const { wire, status } = this.options;
    const type = frame[0]!;
    if ((wire.answers.takesData || wire.answers.endIsUnclear) && !amidCopy.has(type)) {
      this.options.violated();
      return false;
    }
    switch (type) {
      case front.parse:
      case front.bind:
      case front.describe:
      case front.execute:
      case front.close:
      case front.flush:
      case front.sync:
        return this.batch.take(frame, status());
      case front.copyDone:
      case front.copyFail:
        // The data passed unseen.
        wire.attempt.blur();
        wire.answers.copyEnded();
        wire.send(frame);
        return true;
      case front.copyData:
        wire.send(frame);
        return true;
      default:
    }
    if (type === front.terminate && this.mayEnd) {
      wire.send(frame);
      return true;
    }
    const isRequest = type === front.query || type === front.functionCall;
    if (!this.isIdle && isRequest) return this.batch.endForQuery();
    if (!this.isIdle && !this.batch.awaitsClient) return false;
    if (type === front.query) this.query(frame);
    else if (type === front.functionCall) this.call(frame);
    // What PostgreSQL will refuse.
    else wire.send(frame);
    return true;
  }

  private query(frame: Buffer): void {
    const { wire, rules } = this.options;
    const status = this.options.status();
    const shape = shapeOf(frame, headerBytes, frame.length, rules());
    const single = shape.statements <= 1;
    // In such encodings what looks like one statement may be several; in others PostgreSQL refuses what cannot be read here.
    const isUnreadable = shape.first === 'unclear' && rules().mixedBytes;
    if (status === 'E' || !wire.name.mayBeSet) this.pass(frame, shape);
    else if (isUnreadable || (!single && (shape.ends || (status === 'I' && shape.opensLate))))
      this.refuse(status);
    else if (status === 'T' && isCommit(shape.first)) {
      this.transaction.claimBefore(shape.first);
      wire.send(frame);
    } else if (status === 'I' && isNamed(shape)) this.wrap(frame, (tag) => [commandComplete(tag)]);
    else this.pass(frame, shape);
  }

  private call(frame: Buffer): void {
    const { wire } = this.options;
    if (this.options.status() === 'I' && wire.name.mayBeSet) this.wrap(frame, () => null);
    else this.pass(frame);
  }

  private wrap(frame: Buffer, replies: Replies): void {
    const { wire } = this.options;
    wire.attempt.add(frame);
    this.transaction.wrap(replies, { extended: false, acts: wire.name.willAct(false) });
    wire.send(frame);
  }

  /** `shape`: of a Query. */
  private pass(frame: Buffer, shape: TextShape | null = null): void {
    const { attempt, name } = this.options.wire;
    if (shape === null || shape.first !== 'begin' || shape.statements > 1) attempt.add(frame);
    if (shape !== null && shape.statements > 1 && shape.ends) attempt.blur();
    else if (shape !== null) attempt.passes(shape.first, this.options.status(), name);
    this.options.wire.answers.expect(clientFlight('pass', false, () => {}));
    this.options.wire.send(frame);
  }

  /** PostgreSQL does not get it. A block that is open fails, as it would at any error. */
  private refuse(status: TransactionStatus): void {
    const { answers, send } = this.options.wire;
    const tell = (after: TransactionStatus): void => {
      answers.say(errorResponse('ERROR', namedTransactionHidden));
      answers.sayReady(after);
    };
    if (status === 'I') tell('I');
    else {
      answers.expect(ownFlight((result) => tell(result.status)));
      send(failBlock);
    }
  }
}

/** A text whose first statement opens a block is run in that one. */
function isNamed({ first, statements }: TextShape): boolean {
  return isWrapped(first) || (statements > 1 && first !== 'begin');
}
