/**
 * Finds the requests of a client that commit something, as they pass: before such a one PostgreSQL is asked for the id of its transaction, so that it is known what became of it if the leader dies meanwhile. And those that only read, as far as their words tell.
 *
 * Pure. Responsible for: which requests, not how it is asked (id-question.ts). It may miss some, whose outcome is not known then: what comes in several pieces, SQL that changes data without saying so in its first word, the first request that has come while another is under way.
 */
import { bindComplete, commandComplete, noData, parseComplete } from '../../../pgwire/backend-messages.ts';
import { actsBeside, changesData, commitsData, readsData } from '../codec/changes-data.ts';
import { commitText } from '../codec/commit-text.ts';
import { type FrameSplitter, headerBytes } from '../../../pgwire/frame-splitter.ts';
import { readBindNames, shortName, stringEnd } from '../../../pgwire/frontend-messages.ts';
import { front, type TransactionStatus } from '../../../pgwire/message-types.ts';
import { shapeOf } from '../../../pgwire/text-shape.ts';
import type { TextRules } from '../../../pgwire/text-rules.ts';
import type { RequestTracker } from '../session/request-tracker.ts';
import type { IdQuestionKind } from './id-question.ts';

/** `frameOf`: the Parse message of a statement that PostgreSQL has. */
export interface KnownStatements {
  frameOf(name: string): Buffer | undefined;
}

interface Prepared {
  readonly changes: boolean;
  readonly reads: boolean;
  readonly commits: boolean;
  readonly mayFollow: boolean;
  /** It reads, and calls what acts on others whether or not its transaction may write. */
  readonly actsBeside: boolean;
}

const unknown: Prepared = {
  changes: false,
  reads: false,
  commits: false,
  mayFollow: false,
  actsBeside: false,
};
const portalByte = 'P'.charCodeAt(0);
const committed = commandComplete('COMMIT');
const commitBytesMax = 100;

export class ForeseenCommit {
  private readonly tracker: Pick<
    RequestTracker,
    'status' | 'due' | 'open' | 'mayHaveSurplus' | 'verdict' | 'endsTransaction' | 'rules' | 'loneText'
  >;
  private readonly statements: KnownStatements;
  private status: TransactionStatus = 'I';
  private isQuery = false;
  private messages = 0;
  /** Its first statement takes a snapshot itself, or commits: what has to come before any snapshot (SET TRANSACTION, LOCK) can follow no question. Null: there is none yet. */
  private mayFollow: boolean | null = null;
  /** One of its statements begins with INSERT, UPDATE, DELETE or MERGE. */
  private changes = false;
  /** Its statements change data, or read. */
  private isPlain = true;
  /** Of prepared ones: none acts beside its transaction. */
  private isRepeatable = true;
  /** Of a Query: it is one statement, and a plain one. */
  private isSingle = false;
  /** Its last message is the Sync. */
  private endsAtSync = false;
  /** In a block: one of its statements may be a COPY. */
  private mayCopy = false;
  /** Bound last in it. */
  private portal: string | null = null;
  private executes = 0;
  /** What will have been answered when a COMMIT is all of it; null: it is not, or that is not known. */
  private expected: Buffer[] | null = null;
  /** Of the portal without a name: its statement is COMMIT. */
  private commits = false;
  /** What is prepared in it. */
  private readonly prepared = new Map<string, Prepared>();

  constructor(tracker: ForeseenCommit['tracker'], statements: KnownStatements) {
    this.tracker = tracker;
    this.statements = statements;
  }

  /** The client, owed nothing, begins to send. */
  begin(): void {
    this.status = this.tracker.status;
    this.isQuery = false;
    this.messages = 0;
    this.endsAtSync = false;
    this.mayFollow = null;
    this.isSingle = false;
    this.isPlain = true;
    this.isRepeatable = true;
    this.changes = false;
    this.mayCopy = false;
    this.portal = null;
    this.executes = 0;
    this.commits = false;
    this.expected = [];
    if (this.prepared.size > 0) this.prepared.clear();
  }

  /** A message of it. */
  sent(part: FrameSplitter, chunk: Buffer): void {
    const { payload, end } = part;
    this.messages += 1;
    this.endsAtSync = part.type === front.sync;
    switch (part.type) {
      case front.query:
        this.isQuery = true;
        this.changes = changesData(chunk, payload, end);
        if (this.changes && this.status === 'I')
          this.isSingle = isSingle(chunk, payload, end, this.tracker.rules);
        this.isPlain = this.changes || readsData(chunk, payload, end);
        this.mayCopy = this.status === 'T' && mentionsCopy(chunk, payload, end);
        this.mayFollow ??= this.isPlain || commitsData(chunk, payload, end);
        this.expected = null;
        return;
      case front.parse:
        this.parsed(chunk, payload, end);
        return;
      case front.bind:
        this.bound(chunk, payload, end);
        return;
      case front.describe:
        this.expect(chunk[payload] === portalByte && this.commits ? noData : null);
        return;
      case front.execute:
        this.expect(this.commits && chunk[payload] === 0 ? committed : null);
        this.commits = false;
        // One of before may be anything.
        this.mayCopy ||= nameAt(chunk, payload, end) !== this.portal;
        this.mayFollow ??= false;
        this.executes += 1;
        return;
      case front.sync:
        return;
      default:
        this.expected = null;
    }
  }

  /**
   * Of all that was sent since `begin`: how PostgreSQL is asked. `block`: in a block around it; `later`: behind it, since it changes data in a block that goes on. Null: not at all.
   */
  get question(): IdQuestionKind | 'block' | 'later' | null {
    const { tracker, status, changes } = this;
    if (tracker.due !== 1 || tracker.open || tracker.mayHaveSurplus || status === 'E') return null;
    // What comes with a Query may end the session, or have the Query passed over, before its block is over.
    if (this.mayFollow !== true || (this.isQuery && this.messages > 1)) return null;
    if (status === 'I' && this.isQuery) return this.isSingle ? 'block' : null;
    // The end of such a batch is its Sync, which is withheld.
    if (status === 'I' && !(changes && this.isPlain && this.endsAtSync)) return null;
    if (tracker.verdict === 'nothing') return this.goesOn ? 'later' : null;
    return tracker.verdict === 'one' ? { form: this.isQuery ? 'call' : 'batch', assigns: changes } : null;
  }

  /** It changes data in a block that goes on behind it, and PostgreSQL reads what comes behind it as a message of its own: not as data of a COPY. */
  private get goesOn(): boolean {
    return this.status === 'T' && this.changes && !this.mayCopy && !this.tracker.endsTransaction;
  }

  /** It is a transaction of its own. */
  get isAlone(): boolean {
    return this.status === 'I';
  }

  /** All that PostgreSQL says when it has succeeded, but for ReadyForQuery; null: it is not known. */
  get answer(): readonly Buffer[] | null {
    return this.expected?.at(-1) === committed ? this.expected : null;
  }

  /** The request is a transaction of its own, and all its statements say that they read, and call nothing that acts beside it by its name. */
  get isRead(): boolean {
    const { tracker, status, changes, isPlain } = this;
    if (status !== 'I' || changes || !isPlain || tracker.due !== 1 || tracker.open) return false;
    if (!this.isQuery) return this.executes > 0 && this.isRepeatable;
    const text = Buffer.from(tracker.loneText ?? '', 'latin1');
    return isSingle(text, 0, text.length, tracker.rules) && !actsBeside(text, 0, text.length);
  }

  private parsed(chunk: Buffer, from: number, to: number): void {
    this.prepared.set(nameAt(chunk, from, to), preparedOf(chunk, stringEnd(chunk, from, to) + 1, to));
    this.expect(parseComplete);
  }

  private bound(chunk: Buffer, from: number, to: number): void {
    const { portal, statement } = readBindNames(chunk, from, to);
    const { changes, reads, commits, mayFollow, actsBeside: acts } = this.statement(statement);
    this.mayFollow ??= mayFollow;
    this.changes ||= changes;
    this.isPlain &&= changes || reads;
    this.isRepeatable &&= !acts;
    this.mayCopy ||= !(changes || reads || commits);
    this.commits = commits && portal === '';
    this.portal = portal;
    this.expect(bindComplete);
  }

  private statement(name: string): Prepared {
    const here = this.prepared.get(name);
    if (here !== undefined) return here;
    const frame = this.statements.frameOf(name);
    if (frame === undefined) return unknown;
    return preparedOf(frame, stringEnd(frame, headerBytes, frame.length) + 1, frame.length);
  }

  private expect(message: Buffer | null): void {
    if (message === null || this.expected?.at(-1) === committed) this.expected = null;
    else this.expected?.push(message);
  }
}

function preparedOf(bytes: Buffer, from: number, to: number): Prepared {
  const commits = to - from < commitBytesMax && commitText.test(textOf(bytes, from, to));
  const changes = changesData(bytes, from, to);
  const reads = readsData(bytes, from, to);
  const mayFollow = changes || reads || commitsData(bytes, from, to);
  return { changes, reads, commits, mayFollow, actsBeside: reads && actsBeside(bytes, from, to) };
}

function nameAt(bytes: Buffer, from: number, to: number): string {
  return shortName(bytes, from, stringEnd(bytes, from, to));
}

/** A statement among several, or one that is not read apart: too much is found, and costs a question. */
function mentionsCopy(bytes: Buffer, from: number, to: number): boolean {
  return /copy/i.test(bytes.toString('latin1', from, to));
}

function isSingle(bytes: Buffer, from: number, to: number, rules: TextRules): boolean {
  const { statements, first } = shapeOf(bytes, from, to, rules);
  return statements === 1 && first === 'plain';
}

function textOf(bytes: Buffer, from: number, to: number): string {
  return bytes.toString('latin1', from, stringEnd(bytes, from, to));
}
