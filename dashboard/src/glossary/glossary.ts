/**
 * The glossary (docs/glossary.md) as the page explains words by it: its table read, and words found in a sentence. Pure.
 *
 * Invariants: a word that stands there twice is explained as it is first; what is found in a text is, put together, that text.
 */

/** By the word, in small letters, what it means, in plain text. */
export type Glossary = ReadonlyMap<string, string>;

export function parseGlossary(markdown: string): Glossary {
  const glossary = new Map<string, string>();
  for (const line of markdown.split('\n')) {
    const [, words, meaning] = /^\| (.+?) \| (.+) \|$/.exec(line) ?? [];
    if (words === undefined || meaning === undefined || words === 'word') continue;
    for (const word of wordsOf(words)) if (!glossary.has(word)) glossary.set(word, plain(meaning));
  }
  return glossary;
}

/** `voter, learner`, `prepare / promise` and `application pointer (AP)` are two words each. */
function wordsOf(cell: string): readonly string[] {
  return cell
    .toLowerCase()
    .split(/, | \/ | \(|\)/)
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function plain(markdown: string): string {
  return markdown
    .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replace(/\*\*([^*]+)\*\*/g, '$1')
    .replace(/\*([^*]+)\*/g, '$1')
    .replaceAll('`', '');
}

/** `word` null: nothing to explain. */
export interface Piece {
  readonly text: string;
  readonly word: string | null;
}

/** `r2.2`: a name that says what it is by its form. */
const incarnationNames = 'r\\d+\\.\\d+';

/** The first time that each of these words stands in the text, also in the plural, is a piece of its own; the first name of an incarnation is that word, too. */
export function piecesOf(text: string, words: readonly string[]): readonly Piece[] {
  const left = new Set(words.map((word) => word.toLowerCase()));
  const patterns = [...left].toSorted((one, other) => other.length - one.length);
  if (patterns.length === 0) return [{ text, word: null }];
  if (left.has('incarnation')) patterns.push(incarnationNames);
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of text.matchAll(new RegExp(`\\b(${patterns.join('|')})(s?)\\b`, 'gi'))) {
    const said = found[1]!.toLowerCase();
    const word = /\d/.test(said) ? 'incarnation' : said;
    if (!left.delete(word)) continue;
    if (found.index > from) pieces.push({ text: text.slice(from, found.index), word: null });
    pieces.push({ text: found[0], word });
    from = found.index + found[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), word: null });
  return pieces;
}
