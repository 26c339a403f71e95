/**
 * Whether a client's SQL may change what its session has besides its transaction: settings, prepared statements, LISTEN, temporary tables, locks.
 *
 * Pure, and no parser: what it finds is asked of PostgreSQL, so that finding too much costs a question. What it misses (a function that sets something) is found when the session is idle for a while.
 */

/** The beginning of a statement, behind a few comments. Bounded: what a look costs is proportional to the text, whatever that is. */
const start = String.raw`(?:^|;|\*\/)\s{0,100}(?:--[^\n]{0,100}\n\s{0,100}){0,3}`;
const telling = new RegExp(
  [
    String.raw`${start}(?:set\s+(?!local\b|transaction\b|constraints\b)|(?:reset|discard|prepare|deallocate|listen|unlisten)\b)`,
    String.raw`set_config(?!\s*\([^()]*,\s*true\s*\))`,
    'advisory',
    'pg_temp',
    String.raw`\bwith\s+hold\b`,
    String.raw`\b(?:create|into)\s+(?:(?:global|local|or\s+replace)\s+)*temp(?:orary)?\b`,
  ].join('|'),
  'i',
);

export function tellsOfState(text: string): boolean {
  return telling.test(text);
}

/** So many of custom settings are asked for. */
export const namesMax = 100;
const nameCharsMax = 128;

/** A SET of a name with a dot, or a string that may be such a name. */
const named =
  /\bset\s+(?:session\s+)?"?([a-z_][\w$]*(?:\.[\w$]+)+)"?\s*(?:=|to\b)|'([a-z_][\w$]*(?:\.[\w$]+)+)'/gi;
const anyName = /[a-z_][\w$]*(?:\.[a-z_][\w$]*)+/gi;

/** Custom settings that a text names. */
export function customSettings(text: string): readonly string[] {
  const found = [...text.matchAll(named)].map(([, one, other]) => (one ?? other ?? '').toLowerCase());
  return found.filter(({ length }) => length <= nameCharsMax);
}

/** A text may set a custom setting. */
export function setsCustom(text: string): boolean {
  return /set_config|\bset\s+(?:session\s+)?"?[a-z_][\w$]*"?\s*\./i.test(text);
}

/** It may set one whose name is not among its strings. */
export function setsUnnamed(text: string): boolean {
  return /set_config(?!\s*\(\s*'[^']*'\s*,)|\bset\s+(?:session\s+)?(?:"[^"]*"|[\w$]+)\s*\.\s*"|\bset\s+(?:session\s+)?"/i.test(
    text,
  );
}

/** The same among the parameters of a statement. */
export function customSettingsAmong(parameters: string): readonly string[] {
  const found = parameters.match(anyName) ?? [];
  return found.filter(({ length }) => length <= nameCharsMax).map((name) => name.toLowerCase());
}
