/**
 * Whether a client's SQL may change what its session has besides its transaction: settings, prepared statements, LISTEN, temporary tables, locks.
 *
 * Pure, and no parser: what it finds is asked of PostgreSQL, so that finding too much costs a question. What it misses (a function that sets something) is found when the session is idle for a while.
 */

/** A SET of more than the transaction, and the like, behind the beginning of a statement. */
const tellingStatement =
  /\s{0,100}(?:set(?![\w$])(?!\s+(?:local|transaction|constraints)\b(?!\s*\.))|(?:reset|discard|prepare|deallocate|listen|unlisten)\b)/iy;
/** Anywhere. */
const telling = new RegExp(
  [
    String.raw`set_config(?!\s*\([^()]*,\s*true\s*\))`,
    'advisory',
    'pg_temp',
    String.raw`\bwith\s+hold\b`,
    String.raw`\b(?:create|into)\s+(?:(?:global|local|or\s+replace)\s+)*temp(?:orary)?\b`,
  ].join('|'),
  'i',
);

export function tellsOfState(text: string): boolean {
  return telling.test(text) || someStatement(text, tellingStatement);
}

/** Where a statement may begin: behind another one, behind a comment, in a Parse (behind its name), in a Query behind another message. */
const beginning = /;|\*\/|\0(?:Q[\s\S]{4})?|--|[\n\r]/g;

/** Whether a statement of the text begins as `form`, which is sticky. A line end counts as the beginning of one only behind a comment that it ends. */
function someStatement(text: string, form: RegExp): boolean {
  const begins = (at: number): boolean => {
    form.lastIndex = at;
    return form.test(text);
  };
  if (begins(0)) return true;
  let isInComment = false;
  for (const { 0: sign, index } of text.matchAll(beginning)) {
    const endsLine = sign === '\n' || sign === '\r';
    if (sign === '--') isInComment = true;
    else if ((!endsLine || isInComment) && begins(index + sign.length)) return true;
    if (sign.startsWith('\0Q') && begins(index + 1)) return true;
    if (endsLine) isInComment = false;
  }
  return false;
}

/** So many of custom settings are asked for. */
export const namesMax = 100;
export const nameCharsMax = 128;

/** A SET of a name with a dot, or a string that may be such a name. */
const named =
  /\bset(?:\s+session)?(?:\s+"?|")([a-z_][\w$]*"?(?:\s*\.\s*"?[\w$]+"?)+)\s*(?:=|to\b)|'([a-z_][\w$]*(?:\.[\w$]+)+)'/gi;
const wholeName = /^[a-z_][\w$]*(?:\.[a-z_][\w$]*)+$/i;

/** Custom settings that a text names. */
export function customSettings(text: string): readonly string[] {
  const found = [...text.matchAll(named)].map(([, one, other]) =>
    (one?.replaceAll(/["\s]/g, '') ?? other ?? '').toLowerCase(),
  );
  return found.filter(({ length }) => length <= nameCharsMax);
}

/** A name that is not found so: with letters that are not ASCII, or comments within; or one that is computed. Bytes from 128 on are letters, also that which JavaScript takes for a blank. */
const hiddenStatement = new RegExp(
  [
    String.raw`[ \t-\r]{0,100}set[ \t-\r]+(?:session[ \t-\r]+)?["\w$.]*[\u0080-\u00ff]["\w$\u0080-\u00ff]*[ \t-\r]*\.`,
    String.raw`[ \t-\r]{0,100}set[ \t-\r]+(?:session[ \t-\r]+)?["\w$]+[ \t-\r]*\.[ \t-\r"\w$.]{0,200}[\u0080-\u00ff]`,
    String.raw`\s{0,100}set(?![\w$])(?=[^=;']{0,200}(?:\/\*|--))(?=[^=;']{0,200}\.)`,
  ].join('|'),
  'iy',
);
const hiddenConfig =
  /set_config(?!\s*\([^()]*,\s*true\s*\))(?!\s*\(\s*(?:'[\w$.]*'|\$\d+)(?:::[\w.\s"]{0,40}|\s*),)/i;

/** A text may set a custom setting whose name is not among those that `customSettings` finds, nor among parameters. */
export function setsHidden(text: string): boolean {
  return hiddenConfig.test(text) || someStatement(text, hiddenStatement);
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

/** A custom setting, if a parameter of a statement may be the name of one. */
export function customSettingNamed(parameter: string): string | null {
  return parameter.length <= nameCharsMax && wholeName.test(parameter) ? parameter.toLowerCase() : null;
}
