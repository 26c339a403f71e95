/**
 * Looks whether a client mentions one of the two settings that concern the gateway, `synchronous_commit` and `barista.request_id`.
 *
 * Pure. Searches the text of messages, whatever its meaning: a mention in a comment counts, too. A name that is put together only inside PostgreSQL
 * (`'synchronous_' || 'commit'`) is not found.
 */
import type { StartupMessage } from './startup.ts';

export interface Mention {
  /** `synchronous_commit`, or what has it off without saying so. */
  readonly commit: boolean;
  /** Together with something that may make its setting outlive the session. */
  readonly lasting: boolean;
  /** `barista.request_id`, or the function that tells about named requests, `pg_barista.request_committed`. */
  readonly request: boolean;
}

const either = /synchronous_commit|create\s+subscription|barista["\s]*\.["\s]*request_/i;
/** A subscription's workers do not wait unless it says that they do. */
const commitName = /synchronous_commit|create\s+subscription/i;
const requestName = /barista["\s]*\.["\s]*request_/i;
/** ALTER ROLE ... SET and the like, or the definition of something that sets it whenever it is used: a function, a view, a default. */
const definition = /\b(?:alter|create)\b/i;

/** So much of a piece is looked at again together with the next. */
const tailChars = 64;

/** `text`: that of one message, or of several in which only the mention itself is looked for. */
export function mentions(text: string): boolean {
  return either.test(text);
}

/** In one whole message. */
export function mentionIn(text: string): Mention | null {
  if (!either.test(text)) return null;
  const commit = commitName.test(text);
  return { commit, lasting: commit && definition.test(text), request: requestName.test(text) };
}

export function bothMentions(a: Mention | null, b: Mention | null): Mention | null {
  if (a === null || b === null) return a ?? b;
  return { commit: a.commit || b.commit, lasting: a.lasting || b.lasting, request: a.request || b.request };
}

/** In one message that comes in pieces. */
export class PieceSearch {
  private tail = '';
  private found: Mention | null = null;
  private defines = false;

  /** What has been found up to and with this piece. */
  look(piece: string): Mention | null {
    const text = this.tail + piece;
    this.tail = text.slice(-tailChars);
    this.defines ||= definition.test(text);
    this.found = bothMentions(this.found, mentionIn(text));
    if (this.found?.commit === true && this.defines) this.found = { ...this.found, lasting: true };
    return this.found;
  }
}

/**
 * In the parameters of a startup packet. PostgreSQL takes a dash in the name of an option for an underscore, and a backslash in `options` makes the next character
 * an ordinary one.
 */
export function mentionInStartup({ parameters }: StartupMessage): Mention | null {
  const text = parameters.map(([name, value]) => `${name}=${value}`).join('\n');
  const mention = mentionIn(text.replaceAll('\\', '').replaceAll('-', '_'));
  return mention === null ? null : { ...mention, lasting: false };
}
