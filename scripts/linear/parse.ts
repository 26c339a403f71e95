/**
 * Reads a regular expression of JavaScript into a tree, as far as its cost depends on it: groups, quantifiers, alternatives, assertions.
 *
 * Does not check the syntax: the expression has been compiled before. Back references are refused, since their cost cannot be read from the tree.
 */

export type Tree =
  /** One character. `raw`: its source, as `[a-z]` or `\s`. */
  | { readonly kind: 'character'; readonly raw: string }
  | { readonly kind: 'sequence'; readonly parts: readonly Tree[] }
  | { readonly kind: 'choice'; readonly parts: readonly Tree[] }
  | { readonly kind: 'repeat'; readonly part: Tree; readonly min: number; readonly max: number }
  /** `start`: `^` without the flag m. */
  | { readonly kind: 'assertion'; readonly of: 'start' | 'other' }
  | { readonly kind: 'look'; readonly behind: boolean; readonly part: Tree };

const groupStart = /\((?:\?(?:<?[=!]|:|<\w+>))?/y;
const escape = /\\(?:x[\da-f]{2}|u\{[\da-f]+\}|u[\da-f]{4}|p\{[^}]*\}|c[a-z]|[^])/iy;
const quantifier = /(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/y;

export function parseExpression(source: string, flags: string): Tree {
  let at = 0;

  const take = (form: RegExp): RegExpExecArray | null => {
    form.lastIndex = at;
    const found = form.exec(source);
    if (found !== null) at += found[0].length;
    return found;
  };

  const choice = (): Tree => {
    const parts: Tree[] = [sequence()];
    while (source[at] === '|') {
      at += 1;
      parts.push(sequence());
    }
    return parts.length === 1 ? parts[0]! : { kind: 'choice', parts };
  };

  const sequence = (): Tree => {
    const parts: Tree[] = [];
    while (at < source.length && source[at] !== '|' && source[at] !== ')') parts.push(repeated(atom()));
    return { kind: 'sequence', parts };
  };

  const repeated = (part: Tree): Tree => {
    const found = take(quantifier);
    if (found === null) return part;
    const [text, min, comma, max] = found;
    if (min === undefined) {
      return { kind: 'repeat', part, min: text[0] === '+' ? 1 : 0, max: text[0] === '?' ? 1 : Infinity };
    }
    const most = comma === '' ? Number(min) : max === '' ? Infinity : Number(max);
    return { kind: 'repeat', part, min: Number(min), max: most };
  };

  const atom = (): Tree => {
    switch (source[at]!) {
      case '(':
        return group();
      case '[':
        return { kind: 'character', raw: bracketed() };
      case '^':
        at += 1;
        return { kind: 'assertion', of: flags.includes('m') ? 'other' : 'start' };
      case '$':
        at += 1;
        return { kind: 'assertion', of: 'other' };
      case '\\':
        return escaped();
      default:
        return { kind: 'character', raw: source[at++]! };
    }
  };

  const group = (): Tree => {
    const opening = take(groupStart)![0];
    const part = choice();
    at += 1;
    if (!/[=!]$/.test(opening)) return part;
    return { kind: 'look', behind: opening.includes('<'), part };
  };

  const bracketed = (): string => {
    const from = at;
    for (let depth = 0; ; at += 1) {
      if (source[at] === '\\') at += 1;
      else if (source[at] === '[' && (depth === 0 || flags.includes('v'))) depth += 1;
      else if (source[at] === ']' && --depth === 0) break;
    }
    at += 1;
    return source.slice(from, at);
  };

  const escaped = (): Tree => {
    const raw = take(escape)![0];
    if (/^\\[bB]$/.test(raw)) return { kind: 'assertion', of: 'other' };
    if (/^\\[1-9k]$/.test(raw)) throw new Error(`the expression has a back reference: ${source}`);
    return { kind: 'character', raw };
  };

  return choice();
}
