/**
 * What a client is owed, and what may have become of its transactions while it is owed something.
 *
 * Responsible for: following what was sent since the client was last owed nothing. What it is owed is counted in owed-answers.ts.
 * Looks at every message of a client, on the leader and on a follower, so it must be quick: the text of a lone Query is kept as a view and read only if that is ever needed.
 * Invariant: what it says of outcomes (`verdict`) is never more than what holds whatever PostgreSQL made of the messages.
 */
import { commitText } from '../codec/commit-text.ts';
import { kindOfStatement } from '../codec/single-statement.ts';
import { type FrameSplitter, headerBytes } from '../../../pgwire/frame-splitter.ts';
import { front, type TransactionStatus } from '../../../pgwire/message-types.ts';
import type { StatementKind } from '../../../pgwire/statement-kinds.ts';
import { StatementReader } from '../../../pgwire/statement-reader.ts';
import { type TextRules, usualRules } from '../../../pgwire/text-rules.ts';
import { Course, type Verdict } from './course.ts';
import { OpenPortals } from './open-portals.ts';
import { OwedAnswers } from './owed-answers.ts';
import { type Payload, PreparedKinds } from './prepared-kinds.ts';

/** To bind a statement is to evaluate its parameters, which may write. These have none. */
const lackParameters: ReadonlySet<StatementKind> = new Set([
  'begin',
  'commit',
  'commitChain',
  'prepare',
  'rollback',
  'rollbackChain',
  'setting',
]);

const commitPrepared = /^\s*commit\s+prepared\b/i;

/** The zero-terminated SQL of a Query message, in a chunk that the client has sent. */
interface TextView {
  readonly chunk: Buffer;
  readonly from: number;
  readonly to: number;
}

export class RequestTracker {
  /** What the client was told last. */
  status: TransactionStatus = 'I';
  /** Counts up when the client, owed nothing, begins to send something that is to be answered. */
  request = 0;
  /** The client has said that it ends the session. */
  terminated = false;
  rules: TextRules = usualRules;
  readonly prepared = new PreparedKinds();
  readonly portals = new OpenPortals();

  private readonly course = new Course();
  /** What it is owed. */
  readonly owed = new OwedAnswers();
  /** The only message that is being answered is this Query. */
  private lone: TextView | null = null;
  private followedLone = false;
  /** The request that was answered last was one BEGIN, which has opened a block. */
  private begun = false;
  /** An error has been said since the client was last owed nothing. */
  private saidError = false;
  /** Of a Query message that comes in pieces. */
  private reader: StatementReader | null = null;

  /** ReadyForQuery messages that the client has not been told yet. */
  get due(): number {
    return this.owed.due;
  }

  /** Messages of the extended protocol were sent behind the last Sync. */
  get open(): boolean {
    return this.owed.open;
  }

  /** There may come ReadyForQuery messages that are not counted. */
  get mayHaveSurplus(): boolean {
    return this.owed.mayHaveSurplus;
  }

  get outstanding(): boolean {
    return this.owed.outstanding;
  }

  get verdict(): Verdict {
    this.followLone();
    return this.course.verdict;
  }

  /** What is under way is a COMMIT or PREPARE TRANSACTION by itself. */
  get onlyCommits(): boolean {
    this.followLone();
    return this.course.onlyCommits || commitPrepared.test((this.loneText ?? '').slice(0, 200));
  }

  get endsTransaction(): boolean {
    this.followLone();
    return this.course.endsTransaction;
  }

  /** The SQL of the Query that is being answered, as it was sent; null if it is not a lone Query. */
  get loneText(): string | null {
    if (this.lone === null || !this.outstanding) return null;
    return this.lone.chunk.toString('latin1', this.lone.from, this.lone.to - 1);
  }

  /** The client is owed the answer to one Query, and that is exactly a COMMIT. */
  get isLoneCommit(): boolean {
    return commitText.test(this.loneText ?? '');
  }

  /** A block is open in which nothing has been sent but the BEGIN. */
  get hasJustBegun(): boolean {
    return this.begun && !this.outstanding;
  }

  private get isLoneBegin(): boolean {
    const { lone } = this;
    return lone !== null && kindOfStatement(lone.chunk, lone.from, lone.to - 1, this.rules) === 'begin';
  }

  /** A part of a message of the client, on its way to PostgreSQL. */
  sent(part: FrameSplitter, chunk: Buffer): void {
    switch (part.type) {
      case front.query:
        this.sentQuery(part, chunk);
        return;
      case front.parse:
        this.sentExtended(part);
        if (part.first) this.prepared.parse(payloadOf(part, chunk), this.rules);
        return;
      case front.bind:
        this.sentExtended(part);
        if (part.first) this.bound(part, chunk);
        return;
      case front.execute:
        if (part.first) this.executed(part, chunk);
        return;
      case front.describe:
      case front.close:
        this.sentExtended(part);
        return;
      case front.sync:
        if (part.last) this.sentSync();
        return;
      case front.functionCall:
        if (part.last) this.calledFunction();
        return;
      case front.copyDone:
      case front.copyFail:
        this.owed.endedCopy();
        return;
      case front.terminate:
        this.terminated = true;
        return;
      default:
      // COPY data, Flush, passwords, and what PostgreSQL will refuse.
    }
  }

  /** PostgreSQL takes COPY data. `untold`: ReadyForQuery messages that it has sent before and the client has not been told. */
  copyBegan(untold = 0): boolean {
    return this.owed.copyBegan(untold);
  }

  /** PostgreSQL has said an error. */
  failed(untold = 0): void {
    this.saidError = true;
    this.owed.failed(untold);
  }

  /** PostgreSQL has said ReadyForQuery. `isBare`: no answer came before it. To be called while `mayHaveSurplus`. */
  ready(isBare: boolean, untold = 0): void {
    this.owed.ready(isBare, untold);
  }

  /** The client has been told ReadyForQuery so many times, the last time with this status. */
  told(times: number, status: TransactionStatus): void {
    this.begun = this.status === 'I' && status === 'T' && times === 1 && this.isLoneBegin;
    this.owed.told(times);
    this.status = status;
    if (this.outstanding) return;
    this.prepared.answered(this.saidError);
    this.portals.answered(this.saidError);
  }

  /** A session is taken over that has these statements, by their Parse messages: what they do to transactions must be known before one of them is executed. */
  hasPrepared(messages: readonly Buffer[]): void {
    for (const bytes of messages) {
      this.prepared.parse({ bytes, from: headerBytes, to: bytes.length, isWhole: true }, this.rules);
    }
    this.prepared.sync();
    this.prepared.answered(false);
  }

  /** Start-up owes a ReadyForQuery, too. */
  startedUp(): void {
    this.begin();
    this.owed.sentCall();
  }

  /** Something is sent that will be answered. */
  private begin(): void {
    if (this.outstanding) {
      this.followLone();
      this.lone = null;
      return;
    }
    this.request += 1;
    this.saidError = false;
    this.lone = null;
    this.course.reset(this.status !== 'I');
    if (this.status === 'I') this.portals.clear();
  }

  private sentQuery(part: FrameSplitter, chunk: Buffer): void {
    if (part.first && part.last) {
      const isLone = !this.outstanding;
      this.begin();
      this.lone = { chunk, from: part.payload, to: part.end };
      this.followedLone = false;
      if (!isLone) this.begin();
    } else {
      if (part.first) {
        this.begin();
        this.reader = new StatementReader(this.rules, (kind) => this.course.statement(kind));
      }
      this.reader?.push(chunk, part.payload, part.end);
      if (!part.last) return;
      this.reader?.end();
      this.reader = null;
      this.course.endMessage();
    }
    this.owed.sentQuery();
  }

  private sentExtended(part: FrameSplitter): void {
    if (!part.first) return;
    if (!this.open) this.begin();
    this.owed.sentExtended();
  }

  private executed(part: FrameSplitter, chunk: Buffer): void {
    if (!this.open) this.begin();
    this.owed.sentExecute();
    this.course.statement(this.portals.execute(payloadOf(part, chunk)));
  }

  private bound(part: FrameSplitter, chunk: Buffer): void {
    const payload = payloadOf(part, chunk);
    const portal = this.prepared.bind(payload);
    this.portals.bind(payload, portal);
    if (!lackParameters.has(portal?.kind ?? 'plain')) this.course.statement('plain');
  }

  private sentSync(): void {
    if (!this.open && !this.owed.isTaking) this.begin();
    if (this.owed.sentSync()) this.course.endMessage();
    this.prepared.sync();
    this.portals.sync();
  }

  private calledFunction(): void {
    this.begin();
    this.course.statement('plain');
    this.course.endMessage();
    this.owed.sentCall();
  }

  private followLone(): void {
    const view = this.lone;
    if (view === null || this.followedLone) return;
    this.followedLone = true;
    const reader = new StatementReader(this.rules, (kind) => this.course.statement(kind));
    reader.push(view.chunk, view.from, view.to);
    reader.end();
    this.course.endMessage();
  }
}

function payloadOf({ payload, end, last }: FrameSplitter, bytes: Buffer): Payload {
  return { bytes, from: payload, to: end, isWhole: last };
}
