/**
 * What a client is owed, and what may have become of its transactions while it is owed something.
 *
 * Responsible for: counting the ReadyForQuery messages that are due (Query, Sync and FunctionCall owe one each), and following what was sent since the client was last owed nothing.
 * Looks at every message of a client, on the leader and on a follower, so it must be quick: the text of a lone Query is kept as a view and read only if that is ever needed.
 * Invariant: what it says of outcomes (`verdict`) is never more than what holds whatever PostgreSQL made of the messages.
 *
 * Not exact in one case: a client that pipelines COPY data and further requests behind a COPY without waiting for CopyInResponse may be taken to be owed one answer more.
 */
import type { FrameSplitter } from '../codec/frame-splitter.ts';
import { front, type TransactionStatus } from '../codec/message-types.ts';
import { StatementReader } from '../codec/statement-reader.ts';
import { type TextRules, usualRules } from '../codec/text-rules.ts';
import { Course, type Verdict } from './course.ts';
import { type Payload, PreparedKinds } from './prepared-kinds.ts';

/** The zero-terminated SQL of a Query message, in a chunk that the client has sent. */
interface TextView {
  readonly chunk: Buffer;
  readonly from: number;
  readonly to: number;
}

export class RequestTracker {
  /** ReadyForQuery messages that the client has not been told yet. */
  due = 0;
  /** Messages of the extended protocol were sent behind the last Sync. */
  open = false;
  /** What the client was told last. */
  status: TransactionStatus = 'I';
  /** Counts up when the client, owed nothing, begins to send something that is to be answered. */
  request = 0;
  /** The client has said that it ends the session. */
  terminated = false;
  rules: TextRules = usualRules;
  readonly prepared = new PreparedKinds();

  private readonly course = new Course();
  /** The only message that is being answered is this Query. */
  private lone: TextView | null = null;
  private followedLone = false;
  /** Of a Query message that comes in pieces. */
  private reader: StatementReader | null = null;
  /** A portal of a statement that is not plain is open, and may be executed later. */
  private portalEnds = false;
  /** Syncs since the last message that may have begun a COPY, until the client ended one: PostgreSQL ignores them if it did. */
  private syncsInCopy = 0;
  private copyEnded = false;
  private copying = false;

  get outstanding(): boolean {
    return this.due > 0 || this.open;
  }

  get verdict(): Verdict {
    this.followLone();
    return this.course.verdict;
  }

  /** The SQL of the Query that is being answered, as it was sent; null if it is not a lone Query. */
  get loneText(): string | null {
    if (this.lone === null || !this.outstanding) return null;
    return this.lone.chunk.toString('latin1', this.lone.from, this.lone.to - 1);
  }

  /** The client is owed the answer to one Query, and that is exactly a COMMIT. */
  get isLoneCommit(): boolean {
    return /^\s*(?:commit|end)(?:\s+(?:work|transaction))?\s*;?\s*$/i.test(this.loneText ?? '');
  }

  /** A part of a message of the client, on its way to PostgreSQL. */
  sent(part: FrameSplitter, chunk: Buffer): void {
    switch (part.type) {
      case front.query:
        this.sentQuery(part, chunk);
        return;
      case front.parse:
        this.sentExtended();
        if (part.first) this.prepared.parse(payloadOf(part, chunk), this.rules);
        return;
      case front.bind:
        this.sentExtended();
        if (part.first) this.bound(part, chunk);
        return;
      case front.execute:
        this.sentExtended();
        this.mayCopy();
        if (this.portalEnds) this.course.statement('unclear');
        return;
      case front.describe:
      case front.close:
      case front.flush:
        this.sentExtended();
        return;
      case front.sync:
        if (part.last) this.sentSync();
        return;
      case front.functionCall:
        if (part.last) this.calledFunction();
        return;
      case front.copyDone:
      case front.copyFail:
        this.copying = false;
        this.copyEnded = true;
        return;
      case front.terminate:
        this.terminated = true;
        return;
      default:
      // COPY data, passwords, and what PostgreSQL will refuse.
    }
  }

  /** PostgreSQL has begun to take COPY data: it ignores Sync until the client has ended it. */
  copyBegan(): void {
    if (this.syncsInCopy > 0) {
      this.due = Math.max(0, this.due - this.syncsInCopy);
      this.syncsInCopy = 0;
      if (this.due === 0) this.open = true;
    }
    this.copying = !this.copyEnded;
  }

  /** The client has been told ReadyForQuery so many times, the last time with this status. */
  told(times: number, status: TransactionStatus): void {
    this.due = Math.max(0, this.due - times);
    this.status = status;
    this.copying = false;
    if (status === 'I') this.portalEnds = false;
  }

  /** Start-up owes a ReadyForQuery, too. */
  startedUp(): void {
    this.begin();
    this.due += 1;
  }

  /** Something is sent that will be answered. */
  private begin(): void {
    if (this.due > 0 || this.open) {
      this.followLone();
      this.lone = null;
      return;
    }
    this.request += 1;
    this.lone = null;
    this.course.reset(this.status !== 'I');
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
    this.open = false;
    this.mayCopy();
    this.due += 1;
  }

  private sentExtended(): void {
    if (!this.open) this.begin();
    this.open = true;
  }

  private bound(part: FrameSplitter, chunk: Buffer): void {
    const portal = this.prepared.bind(payloadOf(part, chunk));
    this.course.statement(portal?.kind ?? 'plain');
    if (portal === null || portal.portal === '') return;
    if (portal.kind !== 'plain' && portal.kind !== 'setting') this.portalEnds = true;
  }

  private sentSync(): void {
    if (this.copying) return;
    if (!this.open) this.begin();
    this.course.endMessage();
    this.open = false;
    if (!this.copyEnded) this.syncsInCopy += 1;
    this.due += 1;
  }

  private calledFunction(): void {
    this.begin();
    this.course.statement('plain');
    this.course.endMessage();
    this.open = false;
    this.due += 1;
  }

  /** What is being sent may begin a COPY. */
  private mayCopy(): void {
    this.syncsInCopy = 0;
    this.copyEnded = false;
    this.copying = false;
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
