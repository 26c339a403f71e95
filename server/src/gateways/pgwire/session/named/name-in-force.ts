/**
 * Whether a session may have a name set for its next transaction.
 *
 * Responsible for: remembering what has mentioned the setting. Only PostgreSQL knows what is set; where this says no, the next transaction certainly has no name that was given literally.
 */
import { readBindNames, shortName, stringEnd } from '../../../../pgwire/frontend-messages.ts';
import { isOwnQuestion } from '../../../../pgwire/own-questions.ts';
import { headerBytes } from '../../../../pgwire/frame-splitter.ts';
import { mentionIn } from '../../codec/mentions.ts';
import { front } from '../../../../pgwire/message-types.ts';
import { discardsAll, kindOfText, type TextKind } from './asking-text.ts';

/** What lets a mention have an effect later, without another one. */
const lasting = /\b(?:create|prepare|do|declare|alter)\b/i;
/** What stands for another text, wherever it is. */
const executing = /execute/i;
/** What may give a prepared statement another text. */
const preparing = /prepare|deallocate|discard/i;
const statementsMax = 1000;
/** Of a statement that gives the name and does other things. */
const givingCharsMax = 1_000;

/** Comments, escapes, quoted names and strings between dollars: where a string ends is not plain to see then. A parameter such as $1 is none of these. */
const notPlain = /--|\/\*|[\\"]|\$(?!\d)/;

/** Only one statement, as far as can be seen, which gives the name. A word in a string gives nothing, where it is plain what is one. */
function onlyGives(text: string): boolean {
  const bare = notPlain.test(text) ? text : text.replaceAll(/'[^']*'/g, '');
  return /\bset(?:_config)?\b/i.test(bare) && !/;\s*\S/.test(bare);
}

/** What one message says that concerns the name of its transaction. */
export interface MessageMentions {
  readonly type: number;
  /** The setting. */
  readonly name: boolean;
  /** It does more than set, show or ask. */
  readonly acts: boolean;
  /** Of its text; of a Bind that of its statement counts. */
  readonly kind: TextKind;
  /** With something that lets it have an effect later. */
  readonly lasts: boolean;
  /** Its text may stand for another one, which is not known. */
  readonly executes: boolean;
  /** DISCARD ALL, in a message of its own. */
  readonly discardsAll: boolean;
  /** A prepared statement may stand for something else behind it. */
  readonly prepares: boolean;
  /** Of a Parse. */
  readonly statement: string;
}

/** Null if it is of a type that can say nothing, or the gateway's own. Reads all of the message. */
export function messageMentions(frame: Buffer): MessageMentions | null {
  const type = frame[0]!;
  if (type !== front.query && type !== front.parse && type !== front.bind && type !== front.functionCall)
    return null;
  if (isOwn(frame, type)) return null;
  const text = frame.toString('latin1', headerBytes);
  const name = mentionIn(text)?.request === true;
  const isParse = type === front.parse;
  const nameEnd = isParse ? stringEnd(frame, headerBytes, frame.length) : headerBytes - 1;
  const sql = type === front.query || isParse ? frame.subarray(nameEnd + 1) : null;
  const sqlEnd = sql === null ? 0 : stringEnd(sql, 0, sql.length);
  const isShort = sql !== null && sqlEnd <= givingCharsMax;
  const bare = isShort ? sql.toString('latin1', 0, sqlEnd) : '';
  const kind = isShort ? kindOfText(bare) : 'acts';
  return {
    type,
    name,
    acts: type !== front.bind && kind === 'acts' && !(isShort && name && onlyGives(bare)),
    kind,
    lasts: name && !isParse && lasting.test(text),
    executes: type === front.query && executing.test(text),
    discardsAll: type === front.query && isShort && discardsAll(bare),
    prepares: sql !== null && preparing.test(text),
    statement: isParse ? shortName(frame, headerBytes, nameEnd) : '',
  };
}

function isOwn(frame: Buffer, type: number): boolean {
  if (type === front.parse)
    return isOwnQuestion(shortName(frame, headerBytes, stringEnd(frame, headerBytes, frame.length)));
  return type === front.bind && isOwnQuestion(readBindNames(frame, headerBytes, frame.length).statement);
}

export class NameInForce {
  /** A name may be set. */
  mayBeSet = false;
  /** The transaction has done more than set, show or ask: what it has changed PostgreSQL may not say before its COMMIT, or never, where it is elsewhere. */
  acts = false;
  /** The message whose turn it is; null: it is one that can say nothing. */
  private message: MessageMentions | null = null;
  /** Prepared statements that mention the setting, or do nothing but set, show or ask. */
  private readonly statements = new Map<string, MessageMentions>();
  /** How many of them mention it. */
  private naming = 0;
  private lasts = false;

  /** The session's messages must be looked at one by one. */
  get needsCare(): boolean {
    return this.mayBeSet || this.lasts || this.naming > 0;
  }

  /** A message of the client, whose turn it is: what answers to earlier ones tell must not come after it. May be called again, until it is taken. */
  note(message: MessageMentions | null): void {
    this.message = message;
    if (message === null) return;
    if (message.name) this.mayBeSet = true;
    if (message.lasts) this.lasts = true;
  }

  /** That message, a Parse, is sent. What is returned takes it back: PostgreSQL has refused it, or passed it over. */
  parsed(): () => void {
    const { message } = this;
    if (message?.type !== front.parse) return () => {};
    const { statement } = message;
    const before = this.statements.get(statement);
    const counts = message.name || !message.acts || message.kind !== 'acts';
    this.keep(statement, counts ? message : undefined);
    return () => this.keep(statement, before);
  }

  private keep(statement: string, one: MessageMentions | undefined): void {
    if (this.statements.get(statement)?.name === true) this.naming -= 1;
    this.statements.delete(statement);
    if (one === undefined) return;
    if (this.statements.size < statementsMax) this.statements.set(statement, one);
    if (!one.name) return;
    if (this.statements.has(statement)) this.naming += 1;
    else this.lasts = true;
  }

  /** The message belongs to the transaction that is open, or begins one: those before it are answered. */
  taken({ type, acts }: MessageMentions): void {
    if (acts && type !== front.parse) this.acts = true;
  }

  mentioned(): void {
    this.mayBeSet = true;
  }

  /** Somewhere in a message that has passed already: what else it says is not known. */
  mentionedUnseen(): void {
    this.mayBeSet = true;
    this.lasts = true;
  }

  /** This statement is about to be executed. One that is given the setting by a parameter does not count as acting: PostgreSQL tells whether it has written. */
  bound(statement: string): void {
    const known = this.statements.get(statement);
    if (known?.name === true) this.mayBeSet = true;
    if (!this.bindGives && (known === undefined || known.acts)) this.acts = true;
  }

  /** It may change what later texts mean. To be asked as it is bound. */
  alters(statement: string): boolean {
    const kind = this.statements.get(statement)?.kind ?? 'acts';
    return kind !== 'asks' && !(kind === 'gives' && this.bindGives);
  }

  /** The Bind whose turn it is mentions the setting. */
  private get bindGives(): boolean {
    return this.message?.type === front.bind && this.message.name;
  }

  /** Whether the statement that is about to be executed does more than that. `isBound`: `bound` was told of it. */
  willAct(isBound: boolean): boolean {
    return isBound ? this.acts : (this.message?.acts ?? true);
  }

  /** No transaction is open, and the next message is the first of another one. */
  outsideOfTransaction(): void {
    this.acts = false;
  }

  /** The name is used up, or none was set. */
  cleared(): void {
    this.mayBeSet = this.lasts;
  }
}
