/**
 * Whether a session may have a name set for its next transaction.
 *
 * Responsible for: remembering what has mentioned the setting. Only PostgreSQL knows what is set; where this says no, the next transaction certainly has no name that was given literally.
 */
import { shortName, stringEnd } from '../../../../pgwire/frontend-messages.ts';
import { headerBytes } from '../../../../pgwire/frame-splitter.ts';
import { mentionIn } from '../../codec/mentions.ts';
import { front } from '../../../../pgwire/message-types.ts';

/** What lets a mention have an effect later, without another one. */
const lasting = /\b(?:create|prepare|do|declare|alter)\b/i;
/** NOTIFY and pg_notify. What hides in functions is not seen. */
const notification = /notify\b/i;
const statementsMax = 1000;

/** What one message says that concerns the name of its transaction. */
export interface MessageMentions {
  readonly type: number;
  /** The setting. */
  readonly name: boolean;
  readonly notifies: boolean;
  /** With something that lets it have an effect later. */
  readonly lasts: boolean;
  /** Of a Parse. */
  readonly statement: string;
}

/** Null if it is of a type that can say nothing. Reads all of the message. */
export function messageMentions(frame: Buffer): MessageMentions | null {
  const type = frame[0]!;
  if (type !== front.query && type !== front.parse && type !== front.bind && type !== front.functionCall)
    return null;
  const text = frame.toString('latin1', headerBytes);
  const name = mentionIn(text)?.request === true;
  const notifies = notification.test(text);
  const isParse = type === front.parse;
  return {
    type,
    name,
    notifies,
    lasts: (name || notifies) && !isParse && lasting.test(text),
    statement: isParse ? shortName(frame, headerBytes, stringEnd(frame, headerBytes, frame.length)) : '',
  };
}

export class NameInForce {
  /** A name may be set. */
  mayBeSet = false;
  /** The transaction may have notified others, which counts as having written, though PostgreSQL does not say so before its COMMIT. */
  notifies = false;
  /** Prepared statements that mention the setting, or notify. */
  private readonly naming = new StatementNames();
  private readonly notifying = new StatementNames();
  private lasts = false;
  private notifiesLater = false;

  /** The session's messages must be looked at one by one. */
  get needsCare(): boolean {
    return this.mayBeSet || this.lasts || this.naming.size > 0;
  }

  /** A message of the client, whose turn it is: what answers to earlier ones tell must not come after it. May be called again, until it is taken. */
  note({ type, name, notifies, lasts, statement }: MessageMentions): void {
    if (name) this.mayBeSet = true;
    if (type === front.parse) {
      if (!this.naming.note(statement, name)) this.lasts = true;
      if (!this.notifying.note(statement, notifies)) this.notifiesLater = true;
      return;
    }
    if (lasts && name) this.lasts = true;
    if (lasts && notifies) this.notifiesLater = true;
  }

  /** The message belongs to the transaction that is open, or begins one: those before it are answered. */
  taken({ type, notifies }: MessageMentions): void {
    if (notifies && type !== front.parse) this.notifies = true;
  }

  mentioned(): void {
    this.mayBeSet = true;
  }

  /** Somewhere in a message that has passed already: what else it says is not known. */
  mentionedUnseen(): void {
    this.mayBeSet = true;
    this.lasts = true;
  }

  /** This statement is about to be executed. */
  bound(statement: string): void {
    if (this.naming.has(statement)) this.mayBeSet = true;
    if (this.notifying.has(statement)) this.notifies = true;
  }

  /** No transaction is open, and the next message is the first of another one. */
  outsideOfTransaction(): void {
    this.notifies = this.notifiesLater;
  }

  /** The name is used up, or none was set. */
  cleared(): void {
    this.mayBeSet = this.lasts;
  }
}

/** Prepared statements of one kind. */
class StatementNames {
  private readonly names = new Set<string>();

  get size(): number {
    return this.names.size;
  }

  has(name: string): boolean {
    return this.names.has(name);
  }

  /** It is prepared, and is one of them or not. False if that cannot be kept. */
  note(name: string, isOne: boolean): boolean {
    if (!isOne) this.names.delete(name);
    else if (this.names.size < statementsMax || this.names.has(name)) this.names.add(name);
    else return false;
    return true;
  }
}
