/**
 * Looks whether a client mentions one of the two settings that concern the gateway, `synchronous_commit` and `barista.request_id`.
 *
 * Pure. Searches the text of messages, whatever its meaning: a mention in a comment counts, too. A name that is put together only inside PostgreSQL
 * (`'synchronous_' || 'commit'`) is not found.
 * Invariant: a mention is found before the piece of the message that completes it is handed on.
 */
import type { StartupMessage } from './startup.ts';

export interface Mention {
  /** `synchronous_commit`. */
  readonly commit: boolean;
  /** `barista.request_id`, or what answers for named requests, `pg_barista.request_committed`. */
  readonly request: boolean;
}

const either = /synchronous_commit|barista["\s]*\.["\s]*request_/i;
const commitName = /synchronous_commit/i;
const requestName = /barista["\s]*\.["\s]*request_/i;
/** What makes a setting outlive the session that mentions it: ALTER ROLE ... SET, or the definition of something that sets it when it is used. */
const lasting = /\b(?:alter|create)\b/i;

/** So much of a piece is looked at again together with the next. */
const tailChars = 64;

export function mentionIn(text: string): Mention | null {
  if (!either.test(text)) return null;
  return { commit: commitName.test(text), request: requestName.test(text) };
}

/** Whether what is mentioned in this text may have an effect beyond the session. */
export function mayLast(text: string): boolean {
  return lasting.test(text);
}

/** Of one message that comes in pieces. */
export class PieceSearch {
  private tail = '';
  private lasts = false;
  private mentioned = false;

  /** True from the piece on in which something is mentioned. */
  look(piece: string): Mention | null {
    const text = this.tail + piece;
    this.tail = text.slice(-tailChars);
    this.lasts ||= lasting.test(text);
    const mention = mentionIn(text);
    this.mentioned ||= mention?.commit ?? false;
    return mention;
  }

  /** `synchronous_commit` is mentioned, and may have an effect beyond the session. */
  get mayLast(): boolean {
    return this.mentioned && this.lasts;
  }
}

/**
 * In the parameters of a startup packet. PostgreSQL takes a dash in the name of an option for an underscore, and a backslash in `options` makes the next character
 * an ordinary one.
 */
export function mentionInStartup({ parameters }: StartupMessage): Mention | null {
  const text = parameters.map(([name, value]) => `${name}=${value}`).join('\n');
  return mentionIn(text.replaceAll('\\', '').replaceAll('-', '_'));
}
