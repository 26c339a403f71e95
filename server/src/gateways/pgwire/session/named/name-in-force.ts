/**
 * Whether a session may have a name set for its next transaction.
 *
 * Responsible for: remembering what has mentioned the setting. Only PostgreSQL knows what is set; where this says no, the next transaction certainly has no name that was given literally.
 */
import { shortName, stringEnd } from '../../codec/frontend-messages.ts';
import { headerBytes } from '../../codec/frame-splitter.ts';
import { mentionIn } from '../../codec/mentions.ts';
import { front } from '../../codec/message-types.ts';

/** What lets a mention have an effect later, without another one. */
const lasting = /\b(?:create|prepare|do|declare|alter)\b/i;
const statementsMax = 1000;

export class NameInForce {
  /** A name may be set. */
  mayBeSet = false;
  /** Prepared statements that mention the setting. */
  private readonly statements = new Set<string>();
  private lasts = false;

  /** The session's messages must be looked at one by one. */
  get needsCare(): boolean {
    return this.mayBeSet || this.lasts || this.statements.size > 0;
  }

  /** A whole message of the client, whose turn it is: what answers to earlier ones tell must not come after it. May be called again. */
  look(frame: Buffer): void {
    const type = frame[0];
    if (type !== front.query && type !== front.parse && type !== front.bind && type !== front.functionCall)
      return;
    const text = frame.toString('latin1', headerBytes);
    const mentioned = mentionIn(text)?.request === true;
    if (mentioned) this.mayBeSet = true;
    if (type === front.parse) {
      const name = shortName(frame, headerBytes, stringEnd(frame, headerBytes, frame.length));
      if (mentioned) this.statements.add(name);
      else if (this.statements.size > 0) this.statements.delete(name);
      if (this.statements.size > statementsMax) this.lasts = true;
    } else if (mentioned && lasting.test(text)) this.lasts = true;
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
    if (this.statements.has(statement)) this.mayBeSet = true;
  }

  /** The name is used up, or none was set. */
  cleared(): void {
    this.mayBeSet = this.lasts;
  }
}
