/**
 * Whether a client's SQL may change what its session has besides its transaction: settings, prepared statements, LISTEN, temporary tables, locks.
 *
 * Pure, and no parser: what it finds is asked of PostgreSQL, so that finding too much costs a question. What it misses (a function that sets something) is found when the session is idle for a while.
 */

/**
 * The beginning of a statement: of the text, of that in a Parse (behind its name) or in a Query behind another message, behind another statement or a comment. Bounded: what a look costs is proportional to
 * the text, whatever that is.
 */
const start = String.raw`(?:^|;|\*\/|\0(?:Q[\s\S]{4})?|[\n\r](?<=--[^\n\r]{0,1000}[\n\r]))\s{0,100}`;
const telling = new RegExp(
  [
    String.raw`${start}(?:set(?![\w$])(?!\s+(?:local|transaction|constraints)\b(?!\s*\.))|(?:reset|discard|prepare|deallocate|listen|unlisten)\b)`,
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
  /\bset(?:\s+session)?(?:\s+"?|")([a-z_][\w$]*"?(?:\s*\.\s*"?[\w$]+"?)+)\s*(?:=|to\b)|'([a-z_][\w$]*(?:\.[\w$]+)+)'/gi;
const anyName = /[a-z_][\w$]*(?:\.[a-z_][\w$]*)+/gi;

/** Custom settings that a text names. */
export function customSettings(text: string): readonly string[] {
  const found = [...text.matchAll(named)].map(([, one, other]) =>
    (one?.replaceAll(/["\s]/g, '') ?? other ?? '').toLowerCase(),
  );
  return found.filter(({ length }) => length <= nameCharsMax);
}

/** A name that is not found so: with letters that are not ASCII, or comments within; or one that is computed. */
const hidden = new RegExp(
  [
    String.raw`${start}set\s+(?:session\s+)?["\w$.]*[\u0080-\u00ff]["\w$\u0080-\u00ff]*\s*\.`,
    String.raw`${start}set\s+(?:session\s+)?["\w$]+\s*\.[\s"\w$.]*[\u0080-\u00ff]`,
    String.raw`${start}set(?![\w$])(?=[^=;']{0,200}(?:\/\*|--))(?=[^=;']{0,200}\.)`,
    String.raw`set_config(?!\s*\([^()]*,\s*true\s*\))(?!\s*\(\s*(?:'[\w$.]*'|\$\d+)(?:::[\w.\s"]{0,40})?\s*,)`,
  ].join('|'),
  'i',
);

/** A text may set a custom setting whose name is not among those that `customSettings` finds, nor among parameters. */
export function setsHidden(text: string): boolean {
  return hidden.test(text);
}

/** A text that prepares what tells of state whenever it is executed. */
export function preparesTelling(text: string): boolean {
  return /\bprepare\b/i.test(text) && /set_config|advisory|pg_temp/i.test(text);
}

/** A text may set a custom setting. */
export function setsCustom(text: string): boolean {
  return /set_config|\bset(?:\s+session)?(?:\s+"?|")[a-z_][\w$]*"?\s*\./i.test(text) || setsHidden(text);
}

/** It may set one whose name is not among its strings. */
export function setsUnnamed(text: string): boolean {
  return setsHidden(text) || /set_config(?!\s*\(\s*'[^']*'\s*,)/i.test(text);
}

/** The same among the parameters of a statement. */
export function customSettingsAmong(parameters: string): readonly string[] {
  const found = parameters.match(anyName) ?? [];
  return found.filter(({ length }) => length <= nameCharsMax).map((name) => name.toLowerCase());
}
