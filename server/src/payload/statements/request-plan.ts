/**
 * What is sent to PostgreSQL for a client's request: its own messages, and where it may write the advance of the application pointer, behind its statements and ahead of each COMMIT.
 *
 * Pure. A Query gets the call as a further statement of its text, extended messages get messages of their own before the Sync: so it is in the same transaction, and only there, whatever becomes of that. What is ours in the
 * answer is left out by answer-reader.ts. Invariant: a request outside of a block that is not `alone` takes effect together with its pointer, or not at all.
 */
import { frameOf } from '../../pgwire/backend-messages.ts';
import { headerBytes } from '../../pgwire/frame-splitter.ts';
import { front, type TransactionStatus } from '../../pgwire/message-types.ts';
import type { TextRules } from '../../pgwire/text-rules.ts';
import { fitsBlock, type NeededDatabase } from './databases-in-use.ts';
import { type TextStatement, fitsSavepoint, mayWrite, statementsOf } from './text-statements.ts';

/** The call that advances the pointer, as SQL; and the name of its column, by which its answer is known. */
export interface Advance {
  /** `goesOn`: the session is in a block behind it. Each call is another step. */
  readonly call: (goesOn: boolean) => string;
  readonly column: string;
}

export interface StatementMeaning {
  readonly kind: TextStatement['kind'];
  readonly word: string;
  /** Whenever it is executed (text-statements.ts). */
  readonly changesState: boolean;
  /** It may make a cursor whose query is run at the end of the transaction. */
  readonly holds?: boolean;
  /** Nobody else may be in this database whenever it is executed. */
  readonly needs?: NeededDatabase | null;
}

export interface PlanContext {
  readonly status: TransactionStatus;
  readonly rules: TextRules;
  /** Statements that the session has prepared by messages, and portals that it has open. */
  readonly statements: ReadonlyMap<string, StatementMeaning>;
  readonly portals: ReadonlyMap<string, StatementMeaning>;
  readonly advance: Advance;
}

/** A message that PostgreSQL answers. */
export interface Expected {
  readonly of: 'parse' | 'bind' | 'describe' | 'execute' | 'close' | 'sync';
  readonly isOwn: boolean;
}

/** Something was put into the text of a Query: `at` characters behind its beginning. */
export interface Insertion {
  readonly at: number;
  readonly length: number;
  /** Behind the last statement. */
  readonly isEnd: boolean;
}

export interface RequestPlan {
  readonly code: 'run';
  readonly bytes: Buffer;
  /** Of extended messages; null: it is a Query. */
  readonly expected: readonly Expected[] | null;
  readonly insertions: readonly Insertion[];
  /** The client's text, if it is a Query with insertions: it is parsed by itself when PostgreSQL does not understand it. */
  readonly text: Buffer | null;
  /** `alone`: it commits by itself, perhaps more than once, and nothing can be put into that. `perhapsAlone`: it does if PostgreSQL says that it cannot run otherwise. */
  readonly mode: 'together' | 'perhapsAlone' | 'alone';
  /** When it is cancelled while it waits, nothing of it is left, outside of a block; within one if it was in a savepoint. */
  readonly isRepeatable: boolean;
  /** How often it can copy in. */
  readonly copies: number;
  /** More than one transaction may be committed, or one begun behind a COMMIT: what a crash leaves may be half of it. */
  readonly isDivided: boolean;
  readonly mayChangeState: boolean;
  /** Databases that nobody else may be in. */
  readonly needs: readonly NeededDatabase[];
  readonly prepared: readonly (readonly [name: string, meaning: StatementMeaning])[];
  /** Closes each of these, in their order: what was prepared stays so when a request that waits is taken back. */
  readonly closings: readonly Buffer[];
  readonly bound: readonly (readonly [name: string, meaning: StatementMeaning])[];
}

export interface PlanRefusal {
  readonly code: 'refused';
  readonly sqlState: string;
  readonly message: string;
  readonly hint?: string;
  /** PostgreSQL may not understand it either: then it is to say so. */
  readonly text?: Buffer;
}

export function movesPointer({ insertions, expected }: RequestPlan): boolean {
  return insertions.length > 0 || expected?.some(({ isOwn }) => isOwn) === true;
}

/** The client's messages; null: they are no whole messages. */
export function messagesOf(bytes: Uint8Array): readonly Buffer[] | null {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const messages: Buffer[] = [];
  let at = 0;
  while (at < all.length) {
    if (all.length - at < headerBytes) return null;
    const length = all.readInt32BE(at + 1) + 1;
    if (length < headerBytes || at + length > all.length) return null;
    messages.push(all.subarray(at, at + length));
    at += length;
  }
  return messages;
}

export const malformed: PlanRefusal = {
  code: 'refused',
  sqlState: '08P01',
  message: 'a request is one Query, or messages up to a Sync',
};

/** Whether anybody is in the database cannot be asked within a block that has failed. */
export const notBehindRollback: PlanRefusal = {
  code: 'refused',
  sqlState: '0A000',
  message:
    'ALTER DATABASE in one request with the ROLLBACK ahead of it is not supported under payload: statements',
  hint: 'Send the ROLLBACK by itself.',
};

/** What PostgreSQL cannot do so that all replicas go on alike. Null: nothing of the kind. */
export function refusalOf(statement: StatementMeaning): PlanRefusal | null {
  if (statement.kind === 'prepare')
    return {
      code: 'refused',
      sqlState: '0A000',
      message: 'prepared transactions are not supported under payload: statements',
    };
  if (statement.kind === 'unclear')
    return {
      code: 'refused',
      sqlState: '0A000',
      message: 'cannot tell where the statements of this text end',
      hint: 'Send each statement by itself; write strings without backslashes, or as $$...$$.',
    };
  return null;
}

export function planQuery(
  query: Buffer,
  copies: readonly Buffer[],
  context: PlanContext,
): RequestPlan | PlanRefusal {
  const zero = query.indexOf(0, headerBytes);
  const text = query.subarray(headerBytes, zero < 0 ? query.length : zero);
  const statements = statementsOf(text, context.rules);
  for (const statement of statements) {
    const refusal = refusalOf(statement);
    if (refusal !== null) return { ...refusal, text: Buffer.from(text) };
  }
  const { places, needs, isDivided } = courseOf(statements, context.status, text.length);
  if (context.status === 'E' && needs.length > 0) return notBehindRollback;
  const common = {
    code: 'run',
    needs,
    expected: null,
    copies: countEnds(copies),
    mayChangeState: statements.some(({ changesState }) => changesState),
    prepared: [],
    closings: [],
    bound: [],
  } as const;
  const [only] = statements;
  const isSingle = statements.length === 1;
  if (isSingle && only?.kind === 'alone' && context.status === 'I') {
    const bytes = Buffer.concat([query, ...copies]);
    return {
      ...common,
      bytes,
      insertions: [],
      text: null,
      mode: 'alone',
      isRepeatable: false,
      isDivided: false,
    };
  }
  const pieces: Buffer[] = [];
  const insertions: Insertion[] = [];
  let from = 0;
  for (const place of places) {
    const before = text.subarray(from, place.at);
    const piece = Buffer.from(
      place.isEnd ? `\n;${context.advance.call(place.goesOn)}` : ` ${context.advance.call(place.goesOn)};`,
      'latin1',
    );
    pieces.push(before, piece);
    insertions.push({ at: characters(text.subarray(0, place.at)), length: piece.length, isEnd: place.isEnd });
    from = place.at;
  }
  pieces.push(text.subarray(from), Buffer.alloc(1));
  return {
    ...common,
    bytes: Buffer.concat([frameOf(front.query, Buffer.concat(pieces)), ...copies]),
    insertions,
    text: places.length > 0 ? Buffer.from(text) : null,
    mode: isSingle && context.status === 'I' && places.length > 0 ? 'perhapsAlone' : 'together',
    isRepeatable:
      !isDivided &&
      canBeTakenBack(statements) &&
      (context.status === 'I' || (statements.length > 0 && statements.every(fitsSavepoint))),
    isDivided: isDivided && !isSingle && places.length > 0,
  };
}

/** PREPARE and DEALLOCATE take effect at once, whatever becomes of what comes behind them. */
export function canBeTakenBack(statements: readonly StatementMeaning[]): boolean {
  return statements.length < 2 || statements.every(({ word }) => word !== 'prepare' && word !== 'deallocate');
}

interface Place {
  readonly at: number;
  readonly goesOn: boolean;
  readonly isEnd: boolean;
}

function courseOf(
  statements: readonly TextStatement[],
  status: TransactionStatus,
  end: number,
): {
  readonly places: readonly Place[];
  readonly needs: readonly NeededDatabase[];
  readonly isDivided: boolean;
} {
  const course = new TransactionCourse(status);
  const places: Place[] = [];
  const needs: NeededDatabase[] = [];
  for (const statement of statements) {
    const needed = course.needs(statement);
    if (needed !== null) needs.push(needed);
    if (course.take(statement)) places.push({ at: statement.start, goesOn: course.isInBlock, isEnd: false });
  }
  if (course.end()) places.push({ at: end, goesOn: false, isEnd: true });
  return { places, needs, isDivided: course.isDivided };
}

/** Where in the course of a request the pointer must be advanced. */
export class TransactionCourse {
  /** Transactions begin or end within. */
  isDivided = false;
  private inBlock: boolean;
  private isFailed: boolean;
  private mayHaveWritten = false;

  constructor(status: TransactionStatus) {
    this.inBlock = status !== 'I';
    this.isFailed = status === 'E';
  }

  get isInBlock(): boolean {
    return this.inBlock;
  }

  /** The database that nobody else may be in where this statement stands; null: it needs none, or PostgreSQL refuses it there. */
  needs({ needs = null }: StatementMeaning): NeededDatabase | null {
    if (needs === null || this.isFailed) return null;
    return this.inBlock && !fitsBlock(needs) ? null : needs;
  }

  /** Whether the pointer is to be advanced ahead of this statement. */
  take(statement: StatementMeaning): boolean {
    const { kind } = statement;
    if (kind === 'begin') {
      this.isDivided = true;
      this.inBlock = true;
      return false;
    }
    if (kind === 'commit' || kind === 'commitChain') {
      const advances = !this.isFailed && (this.inBlock || this.mayHaveWritten);
      this.endBlock(kind === 'commitChain');
      return advances;
    }
    if (kind === 'rollback' || kind === 'rollbackChain') this.endBlock(kind === 'rollbackChain');
    else this.mayHaveWritten ||= mayWrite(statement);
    return false;
  }

  /** Whether it is at the end of the request. */
  end(): boolean {
    return !this.inBlock && this.mayHaveWritten;
  }

  private endBlock(chains: boolean): void {
    this.isDivided = true;
    this.inBlock = chains && this.inBlock;
    this.isFailed = false;
    this.mayHaveWritten = false;
  }
}

/** How many characters PostgreSQL counts: those of UTF-8, and bytes where it is none. */
function characters(bytes: Buffer): number {
  let count = 0;
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80) count += 1;
  return count;
}

export function countEnds(messages: readonly Buffer[]): number {
  return messages.filter(([type]) => type === front.copyDone || type === front.copyFail).length;
}

/** To PostgreSQL, which waits for data that the request does not bring. */
export const noDataToCopy = frameOf(
  front.copyFail,
  Buffer.from('the request brings no data to copy\0', 'latin1'),
);
