/**
 * Looks whether a client mentions one of the two settings that concern the gateway, `synchronous_commit` and `barista.request_id`, or what acts in other databases.
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
  /** What acts in another database, or makes something that can, or `barista.effects_elsewhere`. */
  readonly elsewhere: boolean;
}

/** Only what has one of these is looked at closely. A subscription's workers do not wait unless it says that they do. */
const either = /synchronous_commit|subscription|barista|dblink|postgres_fdw|extension|server|foreign/i;
/** ALTER ROLE ... SET and the like, or the definition of something that sets it whenever it is used: a function, a view, a default. */
const definition = /\b(?:alter|create)\b/i;

/** Of blanks and comments behind the words in one text. It bounds what a look can cost. */
const gapCharsMax = 65_536;
/** So much of a piece is looked at again together with the next. */
const tailChars = 256;

/** `text`: that of one message, or of several in which only the mention itself is looked for. */
export function mentions(text: string): boolean {
  return either.test(text) && (mentionsCommit(text) || mentionsRequest(text) || mentionsElsewhere(text));
}

/** In one whole message. */
export function mentionIn(text: string): Mention | null {
  if (!either.test(text)) return null;
  const commit = mentionsCommit(text);
  const request = mentionsRequest(text);
  const elsewhere = mentionsElsewhere(text);
  if (!commit && !request && !elsewhere) return null;
  return { commit, lasting: commit && definition.test(text), request, elsewhere };
}

function mentionsCommit(text: string): boolean {
  return /synchronous_commit/i.test(text) || isFollowed(text, ['create'], [['subscription']]);
}

function mentionsRequest(text: string): boolean {
  return isFollowed(text, ['barista'], [['.'], ['request_']]);
}

function mentionsElsewhere(text: string): boolean {
  return (
    /effects_elsewhere|dblink|postgres_fdw/i.test(text) ||
    isFollowed(text, ['create', 'import'], [['extension', 'server', 'foreign']])
  );
}

/** Somewhere one of each of these follows one of the words, with nothing but blanks, quotes and comments between them. Where there is very much of that, they count as found. `words` are in lower case. */
function isFollowed(
  text: string,
  words: readonly string[],
  expected: readonly (readonly string[])[],
): boolean {
  const lower = text.toLowerCase();
  const left = { chars: gapCharsMax };
  return words.some((word) => {
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length))
      if (follow(lower, at + word.length, expected, left)) return true;
    return false;
  });
}

/** `left`: of characters in gaps that may be looked at. */
function follow(
  text: string,
  from: number,
  expected: readonly (readonly string[])[],
  left: { chars: number },
): boolean {
  let at = from;
  for (const words of expected) {
    const end = gapEnd(text, at, left.chars);
    left.chars -= end - at;
    if (left.chars <= 0) return true;
    const next = words.find((each) => text.startsWith(each, end));
    if (next === undefined) return false;
    at = end + next.length;
  }
  return true;
}

/** Where something else than a gap begins, or where `charsMax` are exceeded. */
function gapEnd(text: string, from: number, charsMax: number): number {
  const limit = Math.min(text.length, from + charsMax);
  let depth = 0;
  for (let at = from; at < limit; ) {
    // Nearly everywhere no gap begins.
    if (depth === 0 && !mayBeOfGap(text.charCodeAt(at))) return at;
    const two = text.slice(at, at + 2);
    if (two === '/*') depth += 1;
    else if (two === '*/' && depth > 0) depth -= 1;
    else if (two === '--' && depth === 0) {
      const end = text.indexOf('\n', at);
      if (end === -1 || end >= limit) return limit;
      at = end + 1;
      continue;
    } else {
      if (depth === 0 && !/^[\s"]/.test(two)) return at;
      at += 1;
      continue;
    }
    at += 2;
  }
  return limit;
}

/** A blank, a quote, or a sign that may begin a comment; no letter of ASCII, and no dot. */
function mayBeOfGap(code: number): boolean {
  return code <= 0x20 || code === 0x22 || code === 0x2d || code === 0x2f || code >= 0x80;
}

export function bothMentions(a: Mention | null, b: Mention | null): Mention | null {
  if (a === null || b === null) return a ?? b;
  return {
    commit: a.commit || b.commit,
    lasting: a.lasting || b.lasting,
    request: a.request || b.request,
    elsewhere: a.elsewhere || b.elsewhere,
  };
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
  const told = parameters.map(([name, value]) => `${name}=${value}`).join('\n');
  const text = told.replaceAll('\\', '').replaceAll('-', '_');
  const mention = mentionIn(text);
  if (mention === null) return null;
  // Names of clients mean nothing: a session of postgres_fdw calls itself so.
  return { ...mention, lasting: false, elsewhere: /effects_elsewhere/i.test(text) };
}
