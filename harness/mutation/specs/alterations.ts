/**
 * The alterations of a definition in TLA+: one condition dropped, turned round or moved by one, one update forgotten.
 *
 * Responsible for: finding them in text, by tokens and columns. Some of what it gives does not parse, and is not counted. What is not altered,
 * for nothing could miss it: bounds of the models (`Max...`) and what is counted for them, what a model leaves out (`Optional`), `act`, and that something stays as it was. Pure.
 */

export interface Alteration {
  /** Offsets in the module's text. */
  readonly from: number;
  readonly to: number;
  readonly replacement: string;
  /** What was done, for people. */
  readonly what: string;
}

/** A module's text, the same masked (module-text.ts), and which part of it may be altered. */
export interface Scope {
  readonly text: string;
  readonly code: string;
  readonly from: number;
  readonly to: number;
}

const BOUND = /\bMax[A-Z]\w*|\bOptional\b|\bLastBallot\b/;
const STAYS = /'|\bUNCHANGED\b|\bact\b/;
/** What `act` is said to be, which tells of a step and decides nothing; and how often something happened, which only bounds a model. */
const UNTOUCHED = /\/\\ (?:act|ticks|crashes|wipes|copies|endWaits|others)' = /g;

/** All of them, in the order of their places. */
export function alterations(scope: Scope): readonly Alteration[] {
  const untouched = untouchedPlaces(scope);
  const all = [
    ...junctions(scope),
    ...replacedTokens(scope),
    ...conditions(scope),
    ...forgottenUpdates(scope),
  ].filter(
    ({ from, to }) =>
      !BOUND.test(lineAround(scope.code, from, to)) &&
      !untouched.some((place) => place.from <= from && to <= place.to),
  );
  const distinct = new Map(all.map((each) => [`${each.from} ${each.to} ${each.replacement}`, each]));
  return [...distinct.values()].sort((a, b) => a.from - b.from || a.to - b.to || (a.what < b.what ? -1 : 1));
}

function untouchedPlaces({ code, from, to }: Scope): readonly Place[] {
  return [...code.slice(from, to).matchAll(UNTOUCHED)].map((match) => bulleted(code, from + match.index, to));
}

function lineAround(code: string, from: number, to: number): string {
  const end = code.indexOf('\n', to);
  return code.slice(code.lastIndexOf('\n', from - 1) + 1, end === -1 ? code.length : end);
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= 70 ? line : `${line.slice(0, 67)}...`;
}

// Operands of conjunctions and disjunctions

const JUNCTION = /\/\\|\\\/(?!\w)/g;

function junctions({ text, code, from, to }: Scope): readonly Alteration[] {
  return [...code.slice(from, to).matchAll(JUNCTION)].flatMap((match) => {
    const at = from + match.index;
    const places = isBullet(code, at) ? [bulleted(code, at, to)] : [rightOf(code, at), leftOf(code, at)];
    return places.flatMap((place) => (place === null ? [] : dropped(text, code, place, match[0] === '/\\')));
  });
}

interface Place {
  readonly from: number;
  readonly to: number;
}

/** An operand that says what comes next cannot be left out: the state would be incomplete. */
function dropped(text: string, code: string, place: Place, isConjunct: boolean): readonly Alteration[] {
  const operand = code.slice(place.from, place.to);
  if (operand.trim() === '' || (isConjunct && STAYS.test(operand))) return [];
  if (!isConjunct && /^\s*UNCHANGED/.test(operand)) return [];
  const replacement = isConjunct ? 'TRUE' : 'FALSE';
  return [{ ...place, replacement, what: `${replacement} for: ${short(text.slice(place.from, place.to))}` }];
}

function isBullet(code: string, at: number): boolean {
  const before = code.slice(code.lastIndexOf('\n', at - 1) + 1, at).trimEnd();
  return before === '' || !/[\w)\]}>"']$/.test(before) || /\b(IN|THEN|ELSE|IF|LET)$/.test(before);
}

/** To the first line that does not stand to the right of the bullet, or the bracket that closes around it. */
function bulleted(code: string, at: number, limit: number): Place {
  const column = at - code.lastIndexOf('\n', at - 1) - 1;
  const from = at + 2;
  let depth = 0;
  for (let i = from; i < limit; i += 1) {
    const character = code[i] ?? '';
    depth += nesting(code, i);
    if (depth < 0) return trimmed(code, { from, to: i });
    if (character !== '\n') continue;
    const next = /\S/.exec(code.slice(i + 1));
    const nextAt = next === null ? limit : i + 1 + next.index;
    if (nextAt >= limit || nextAt - code.lastIndexOf('\n', nextAt - 1) - 1 <= column)
      return trimmed(code, { from, to: i });
  }
  return trimmed(code, { from, to: limit });
}

const STOPS = /^(?:\/\\|\\\/(?!\w)|=>|==|,|:(?![>=])|\b(?:THEN|ELSE|IN|IF)\b)/;

/** The operand behind an infix operator, on its line. */
function rightOf(code: string, at: number): Place | null {
  const from = at + 2;
  let depth = 0;
  for (let i = from; i < code.length; i += 1) {
    const character = code[i] ?? '';
    depth += nesting(code, i);
    if (character === '\n' && depth > 0) return null;
    if (depth < 0 || character === '\n' || (depth === 0 && stopsAt(code, i)))
      return trimmed(code, { from, to: i });
  }
  return null;
}

/** The operand before an infix operator, on its line. */
function leftOf(code: string, at: number): Place | null {
  let depth = 0;
  for (let i = at - 1; i >= 0; i -= 1) {
    const character = code[i] ?? '';
    depth -= nesting(code, i);
    if (character === '\n' && depth > 0) return null;
    if (depth < 0 || character === '\n') return trimmed(code, { from: i + 1, to: at });
    const stop = depth === 0 && stopsAt(code, i) ? STOPS.exec(code.slice(i, i + 6)) : null;
    if (stop !== null) return trimmed(code, { from: i + stop[0].length, to: at });
  }
  return null;
}

/** How much deeper in brackets one is behind this character. Of `<<` and `>>` one half counts, whichever comes first from the left. */
function nesting(code: string, i: number): number {
  const character = code[i] ?? '';
  if ('([{'.includes(character)) return 1;
  if (')]}'.includes(character)) return -1;
  if (code.startsWith('<<', i)) return 1;
  return code.startsWith('>>', i - 1) ? -1 : 0;
}

function stopsAt(code: string, i: number): boolean {
  if (/\w/.test(code[i] ?? '') && /\w/.test(code[i - 1] ?? '')) return false;
  // The second half of <=, >=, /= and ==.
  if (code[i] === '=' && /[<>/=]/.test(code[i - 1] ?? '')) return false;
  return STOPS.test(code.slice(i, i + 6));
}

function trimmed(code: string, { from, to }: Place): Place {
  const text = code.slice(from, to);
  const blank = text.length - text.trimStart().length;
  return { from: from + blank, to: from + Math.max(blank, text.trimEnd().length) };
}

// Single tokens

/** Each with what comes in its place. The parts of the pattern around the token only look. */
const TOKENS: ReadonlyArray<readonly [pattern: RegExp, replacement: string]> = [
  [/(?<![<=>/\\|:~])<=|=<|\\leq\b/g, '<'],
  [/(?<![<\\=])<(?![<=>-])/g, '<='],
  [/>=|\\geq\b/g, '>'],
  [/(?<![->=<|])>(?![>=])/g, '>='],
  [/\/=|#/g, '='],
  [/(?<![<>/=:|\\'~])=(?![=>])/g, '/='],
  [/\\notin\b/g, '\\in'],
  [/(?<!\\[EA] [\w, ]*|CHOOSE \w+ |\{\w+ )\\in\b(?=[^:|\n]*$)/gm, '\\notin'],
  [/ ?[+-] 1\b/g, ''],
  [/\b1 \+ /g, ''],
  [/\\(?:union|cup)\b/g, '\\intersect'],
  [/\\(?:intersect|cap)\b/g, '\\union'],
  [/ \\ [\w{(][^\n]*?(?=[ )]|$)/gm, ''],
  [/\\A\b/g, '\\E'],
  [/=>/g, '/\\'],
  [/~/g, ''],
  [/\bTRUE\b/g, 'FALSE'],
  [/\bFALSE\b/g, 'TRUE'],
  [/\bLarger(?=\()/g, 'Smaller'],
  [/\bSmaller(?=\()/g, 'Larger'],
  [/\bMax(?=\()/g, 'Min'],
  [/\bMin(?=\()/g, 'Max'],
  [/\bMaxOf(?=\()/g, 'MinOf'],
  [/\bMinOf(?=\()/g, 'MaxOf'],
];

function replacedTokens({ text, code, from, to }: Scope): readonly Alteration[] {
  return TOKENS.flatMap(([pattern, replacement]) =>
    [...code.matchAll(pattern)].flatMap((match): readonly Alteration[] => {
      const at = match.index;
      if (at < from || at >= to || isAssignment(code, at)) return [];
      const end = at + match[0].length;
      const what = `${replacement === '' ? 'nothing' : replacement} for ${match[0].trim()} in: ${short(lineAround(text, at, end))}`;
      return [{ from: at, to: end, replacement, what }];
    }),
  );
}

/** `x' =`, and the `=` of an EXCEPT: no comparison. */
function isAssignment(code: string, at: number): boolean {
  if (code[at] !== '=') return false;
  const before = code.slice(code.lastIndexOf('\n', at - 1) + 1, at).trimEnd();
  return before.endsWith("'") || /!(?:\[(?:[^[\]]|\[[^[\]]*\])*\]|\.\w+)+$/.test(before);
}

// Conditions of IF

function conditions({ text, code, from, to }: Scope): readonly Alteration[] {
  return [...code.slice(from, to).matchAll(/\bIF\b/g)].flatMap((match) => {
    const place = conditionOf(code, from + match.index, to);
    if (place === null) return [];
    const condition = short(text.slice(place.from, place.to));
    return ['TRUE', 'FALSE'].map((replacement) => ({
      from: place.from,
      to: place.to,
      replacement,
      what: `${replacement} for the condition: ${condition}`,
    }));
  });
}

function conditionOf(code: string, at: number, limit: number): Place | null {
  let open = 0;
  for (const match of code.slice(at, limit).matchAll(/\b(IF|THEN)\b/g)) {
    open += match[0] === 'IF' ? 1 : -1;
    if (open === 0) return trimmed(code, { from: at + 2, to: at + match.index });
  }
  return null;
}

// Updates

/** A conjunct `v' = ...` in a list becomes `v' = v`. */
function forgottenUpdates({ text, code, from, to }: Scope): readonly Alteration[] {
  return [...code.slice(from, to).matchAll(/\/\\ (\w+)' = /g)].flatMap((match) => {
    const variable = match[1] ?? '';
    const at = from + match.index;
    if (!isBullet(code, at)) return [];
    const place = bulleted(code, at, to);
    const replacement = `${variable}' = ${variable}`;
    const update = text.slice(place.from, place.to);
    if (update === replacement) return [];
    return [{ ...place, replacement, what: `${variable} stays, for: ${short(update)}` }];
  });
}
