/**
 * The extended protocol in a session that names its transactions: the messages from one Sync to the next.
 *
 * Responsible for: finding out at the first Bind, or at the Execute of a portal that was bound earlier, what the batch does to transactions (what comes before, Parse and Describe, is kept until then), and cutting a batch by a Sync of the gateway's own where a
 * transaction is to be committed in the middle of it.
 * Invariant: behind an error everything up to the client's Sync is skipped, as PostgreSQL does.
 */
import { headerBytes } from '../../../../pgwire/frame-splitter.ts';
import { readBindNames, sync } from '../../../../pgwire/frontend-messages.ts';
import { isOwnQuestion } from '../../../../pgwire/own-questions.ts';
import { front, type TransactionStatus } from '../../../../pgwire/message-types.ts';
import type { StatementKind } from '../../../../pgwire/statement-kinds.ts';
import type { TextRules } from '../../../../pgwire/text-rules.ts';
import type { OpenPortals } from '../open-portals.ts';
import type { PreparedKinds } from '../prepared-kinds.ts';
import { type ClientFlight, clientFlight } from './flight.ts';
import { ExpectedReplies } from './expected-replies.ts';
import { GivenNames } from './given-names.ts';
import type { NamedTransaction } from './named-transaction.ts';
import type { NamedWire } from './named-wire.ts';

/**
 * `none`: between batches. `held`: nothing has been executed. `wrapped`: in a block of the gateway's. `committing`: a COMMIT, with the claim of the name ahead of it. `running`: anything
 * else. `cutting`: the answers to the first part are awaited. `skipping`: that part has failed.
 */
type State = 'none' | 'held' | 'wrapped' | 'committing' | 'running' | 'cutting' | 'skipping';

/** What is kept until the first Bind: beyond it PostgreSQL gets it at once. */
const heldBytesMax = 1_048_576;

export interface BatchOptions {
  readonly wire: NamedWire;
  readonly transaction: NamedTransaction;
  readonly prepared: PreparedKinds;
  readonly portals: OpenPortals;
  /** Digests of the texts of prepared statements; null: not known. */
  readonly texts: Map<string, string | null>;
  /** What the session's text settings are now. */
  readonly rules: () => TextRules;
  /** The session cannot go on: what it does cannot be done under a name. */
  readonly refuse: () => void;
}

export class NamedBatch {
  private readonly options: BatchOptions;
  private state: State = 'none';
  private held: Buffer[] = [];
  private heldBytes = 0;
  private replies = new ExpectedReplies();
  private flight: ClientFlight | null = null;
  private readonly given: GivenNames;
  /** As it will be when what was bound has been executed, and when what is to be executed so far has been. */
  private status: TransactionStatus = 'I';
  private reached: TransactionStatus = 'I';
  /** Nothing has been executed outside of a block that a Sync would commit. */
  private isDivisible = true;

  constructor(options: BatchOptions) {
    this.options = options;
    this.given = new GivenNames(options);
  }

  /** Prepared statements may stand for other texts from now on. */
  forgetTexts(): void {
    this.given.forgetTexts();
  }

  /** A Sync that was sent while a COPY failed has ended it, too, where it was answered. */
  get isNone(): boolean {
    const { state } = this;
    const isSent = state === 'wrapped' || state === 'committing' || state === 'running';
    return state === 'none' || (isSent && this.options.wire.answers.isIdle);
  }

  /** Nothing that it has begun is awaited but the client's next message. */
  get awaitsClient(): boolean {
    return this.state !== 'none' && this.state !== 'cutting';
  }

  /** The next message; false if it must wait until something is answered. `status`: the session's, between batches. */
  take(frame: Buffer, status: TransactionStatus): boolean {
    const { wire } = this.options;
    const type = frame[0]!;
    if (isBare(frame) && this.takeInCopy(frame, type)) return true;
    if (this.isNone) this.state = 'none';
    switch (this.state) {
      case 'none':
        if (!wire.answers.isIdle) return false;
        if (type === front.flush) {
          wire.send(frame);
          return true;
        }
        this.status = status;
        this.reached = status;
        if (status === 'I') this.given.clearPortals();
        this.held = [];
        this.heldBytes = 0;
        this.replies = new ExpectedReplies();
        this.isDivisible = true;
        this.state = 'held';
        this.takeHeld(frame, type);
        return true;
      case 'held':
        this.takeHeld(frame, type);
        return true;
      case 'wrapped':
      case 'committing':
        this.takeSettled(frame, type);
        return true;
      case 'running':
        return this.takeRunning(frame, type);
      case 'cutting':
        return false;
      case 'skipping':
        if (type !== front.sync) return true;
        this.state = 'none';
        wire.answers.sayReady(this.status);
        return true;
      default:
        return this.state satisfies never;
    }
  }

  /**
   * The client sends a Query, or a call, without a Sync behind what it has begun. That is done first: behind an error nothing is run until the Sync, and a transaction is not divided. Returns whether the message is skipped; false: it must
   * wait.
   */
  endForQuery(): boolean {
    switch (this.state) {
      case 'held':
        this.sendHeld();
        this.cut();
        return false;
      case 'running':
        if (this.isDivisible) this.cut();
        else this.options.refuse();
        return false;
      case 'wrapped':
      case 'committing':
        this.options.refuse();
        return false;
      case 'skipping':
        return true;
      case 'none':
      case 'cutting':
        return false;
      default:
        return this.state satisfies never;
    }
  }

  private takeInCopy(frame: Buffer, type: number): boolean {
    const { answers, send } = this.options.wire;
    const taken = answers.takeInCopy(type === front.sync);
    if (taken === 'no') return false;
    if (taken === 'last') this.state = 'none';
    send(frame);
    return true;
  }

  private takeHeld(frame: Buffer, type: number): void {
    if (type === front.bind || type === front.execute) {
      const kind = this.kindOf(frame, type);
      this.start(kind, frame);
      const { held } = this;
      this.held = [];
      this.pass(frame, type, kind, held);
      return;
    }
    this.note(frame, type);
    this.held.push(frame);
    this.heldBytes += frame.length;
    if (type !== front.sync && type !== front.flush && this.heldBytes <= heldBytesMax) return;
    this.sendHeld();
    if (type === front.sync) this.state = 'none';
  }

  /** Nothing of it is executed. */
  private sendHeld(): void {
    this.run(this.held.every(isBare));
    this.options.wire.send(...this.held);
    this.held = [];
  }

  /** At the first thing that is executed. */
  private start(kind: StatementKind, frame: Buffer): void {
    const { transaction, wire } = this.options;
    if (this.status === 'I' && wire.name.mayBeSet && isWrapped(kind)) {
      const isBound = frame[0] === front.bind;
      const acts = wire.name.willAct(isBound);
      const { replies } = this;
      const prepares = (): readonly Buffer[] => replies.prepares;
      const flight = transaction.wrap(replies.frames, { extended: true, acts, prepares });
      this.follow(flight, () => flight.tagBefore !== '' && replies.frames(flight.tagBefore) !== null);
      this.state = 'wrapped';
    } else if (this.status === 'T' && wire.name.mayBeSet && isCommit(kind)) {
      this.follow(transaction.claimBefore(kind));
      this.state = 'committing';
    } else {
      this.run(false);
      this.status = statusAfter(kind, this.status);
    }
  }

  private run(isBare: boolean): void {
    this.state = 'running';
    const flight = clientFlight('pass', true, (status) => this.answered(status));
    flight.isBare = isBare;
    this.follow(flight);
    this.options.wire.answers.expect(flight);
  }

  private follow(flight: ClientFlight, isPrepared = (): boolean => false): void {
    this.flight = flight;
    flight.answered = () => this.given.answered(flight, isPrepared());
  }

  private answered(status: TransactionStatus): void {
    if (this.state !== 'cutting') return;
    this.status = status;
    this.state = this.flight?.failed === true ? 'skipping' : 'none';
  }

  /** The transaction is settled: nothing in the batch may begin or end another one. What PostgreSQL runs in no block it refuses by itself in the gateway's (25001), as it would behind a statement without one. */
  private takeSettled(frame: Buffer, type: number): void {
    const { wire, refuse } = this.options;
    if (type === front.bind || type === front.execute) {
      const kind = this.kindOf(frame, type);
      const isWrapping = this.state === 'wrapped';
      const isInOne = isWrapping || type === front.execute;
      const isItself = type === front.execute && !isWrapping && isCommit(kind);
      const isOne = (isInOne && isWrapped(kind)) || (isWrapping && kind === 'alone');
      if (!isOne && kind !== 'setting' && !isItself) {
        refuse();
        return;
      }
      this.pass(frame, type, kind);
      return;
    }
    this.note(frame, type);
    wire.send(frame);
    if (type === front.sync) this.state = 'none';
  }

  private takeRunning(frame: Buffer, type: number): boolean {
    const { wire } = this.options;
    if (type === front.bind) {
      const kind = this.kindOf(frame, type);
      const isNamed = wire.name.mayBeSet;
      const ends = this.status === 'T' && isCommit(kind);
      const begins = this.status === 'I' && isWrapped(kind);
      if (isNamed && (ends || begins)) {
        this.cut();
        return false;
      }
      this.pass(frame, type, kind);
      this.status = statusAfter(kind, this.status);
      return true;
    }
    if (type === front.execute) {
      const kind = this.kindOf(frame, type);
      if (wire.name.mayBeSet && this.reached === 'T' && isCommit(kind)) {
        this.cut();
        return false;
      }
      this.pass(frame, type, kind);
      return true;
    }
    if (type === front.parse) this.note(frame, type);
    if (this.flight !== null && !isBare(frame)) this.flight.isBare = false;
    wire.send(frame);
    if (type === front.sync) this.state = 'none';
    return true;
  }

  /** Sends a Bind or an Execute, behind what was held. */
  private pass(frame: Buffer, type: number, kind: StatementKind, held: readonly Buffer[] = []): void {
    const { wire } = this.options;
    if (this.flight !== null) this.flight.isBare = false;
    if (type === front.bind) this.given.bound(frame, kind);
    else {
      this.given.executes(frame);
      this.executed(kind);
    }
    this.replies.note(frame);
    wire.send(...held, frame);
  }

  private executed(kind: StatementKind): void {
    const { attempt, name } = this.options.wire;
    if (this.state === 'running') attempt.passes(kind, this.reached, name);
    if (this.reached === 'I' && isWrapped(kind)) this.isDivisible = false;
    this.reached = statusAfter(kind, this.reached);
  }

  private cut(): void {
    if (this.flight !== null) this.flight.mode = 'part';
    this.state = 'cutting';
    this.options.wire.send(sync);
  }

  /** Of a Bind or an Execute. */
  private kindOf(frame: Buffer, type: number): StatementKind {
    const { prepared, portals, wire } = this.options;
    const bytes = { bytes: frame, from: headerBytes, to: frame.length, isWhole: true };
    if (type === front.execute) return portals.execute(bytes);
    const { statement } = readBindNames(frame, headerBytes, frame.length);
    if (isOwnQuestion(statement)) return 'setting';
    wire.name.bound(statement);
    return prepared.bind(bytes)?.kind ?? 'plain';
  }

  private note(frame: Buffer, type: number): void {
    if (type === front.parse) this.given.parsed(frame);
    this.replies.note(frame);
  }
}

/** In a session whose status is `status`, behind a statement of this kind. */
function statusAfter(kind: StatementKind, status: TransactionStatus): TransactionStatus {
  if (status === 'E') return status;
  if (kind === 'begin' || kind === 'commitChain' || kind === 'rollbackChain') return 'T';
  return kind === 'commit' || kind === 'rollback' || kind === 'prepare' ? 'I' : status;
}

/** PostgreSQL says nothing to it, but for ReadyForQuery. */
function isBare(frame: Buffer): boolean {
  return frame[0] === front.sync || frame[0] === front.flush;
}

/** It is run in a block of the gateway's if it is in none of the client's. */
export function isWrapped(kind: StatementKind): boolean {
  return kind === 'plain' || kind === 'procedure' || kind === 'unclear';
}

export function isCommit(kind: StatementKind): boolean {
  return kind === 'commit' || kind === 'commitChain' || kind === 'prepare';
}
