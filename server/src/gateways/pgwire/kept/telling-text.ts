/**
 * Whether a client's SQL may change what its session has besides its transaction: settings, prepared statements, LISTEN, temporary tables, locks.
 *
 * Pure, and no parser: what it finds is asked of PostgreSQL, so that finding too much costs a question. What functions do is in telling-functions.ts; what both miss is found when the session is idle for a while.
 */
import { carriageReturn, dash, newline, semicolon, slash, star } from '../../../pgwire/sql-bytes.ts';

/** Blanks and comments between two words, as many as are looked at: what follows more of them is not seen. */
const between = String.raw`(?:\s|\/\*[^*]{0,60}\*\/|--[^\n\r]{0,60}[\n\r]){0,20}`;
/** PREPARE TRANSACTION with its name, which begins so: a prepared statement may have the name "transaction". */
const ofTransaction = String.raw`${between}transaction${between}(?:'|\$|e'|u&')`;
/** A SET of more than the transaction, and the like, behind the beginning of a statement. */
const tellingStatement = new RegExp(
  [
    String.raw`\s{0,100}(?:set(?![\w$])(?!\s+(?:local|transaction|constraints)\b(?!\s*\.))`,
    String.raw`prepare\b(?!${ofTransaction})`,
    String.raw`(?:reset|discard|deallocate|listen|unlisten)\b)`,
  ].join('|'),
  'iy',
);
/** A block of code, and not ON CONFLICT, nor a rule. */
const doesBlock = String.raw`\bdo\b(?!\s+(?:nothing|update|instead|also)\b)`;
/** Anywhere. */
const telling = new RegExp(
  [
    String.raw`set_config(?!\s*\([^()]*,\s*true\s*\))`,
    'advisory',
    'pg_temp',
    // An UPDATE of it sets.
    'pg_settings',
    String.raw`\bwith\s+hold\b`,
    doesBlock,
    String.raw`\b(?:create|into)\s+(?:(?:global|local|or\s+replace)\s+)*temp(?:orary)?\b`,
  ].join('|'),
  'i',
);

export function tellsOfState(text: string): boolean {
  return telling.test(text) || (tellingWord.test(text) && someStatement(text, tellingStatement));
}

/** No statement of a text tells that has none of these, and most texts have none. */
const tellingWord = /set|discard|prepare|deallocate|listen/i;
const settingWord = /set/i;

/** Places of one text at which a statement may begin so, by its first letter. A text that has more is taken for one that tells: it is made for it, and what a look costs has a bound. */
const beginningsMax = 16_384;

/**
 * Whether a statement of the text begins as `form`, which is sticky. It may begin behind another one, behind a comment, in a Parse (behind its name), in a Query behind another message. A line end counts only behind a comment
 * that it ends.
 */
function someStatement(text: string, form: RegExp): boolean {
  const { length } = text;
  let beginnings = 0;
  const begins = (at: number): boolean => {
    let word = at;
    while (word < at + blanksMax && isBlank(text.charCodeAt(word))) word += 1;
    if (!mayBegin(text.charCodeAt(word))) return false;
    beginnings += 1;
    form.lastIndex = at;
    return beginnings > beginningsMax || form.test(text);
  };
  if (begins(0)) return true;
  let isInComment = false;
  // One byte after the other: a search for each sign costs more than the bytes between them.
  for (let at = 0; at < length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > semicolon) continue;
    if (code === semicolon) {
      if (begins(at + 1)) return true;
    } else if (code === 0) {
      if (begins(at + 1)) return true;
      // Behind the head of a message.
      if (text.charCodeAt(at + 1) === letterQ && begins(at + 6)) return true;
    } else if (code === slash) {
      if (text.charCodeAt(at - 1) === star && begins(at + 1)) return true;
    } else if (code === dash) {
      if (text.charCodeAt(at + 1) === dash) isInComment = true;
    } else if (code === newline || code === carriageReturn) {
      if (isInComment && begins(at + 1)) return true;
      isInComment = false;
    }
  }
  return false;
}

const letterQ = 0x51;

/** As the forms have them. */
const blanksMax = 100;

function isBlank(code: number): boolean {
  return code <= 0x20 && code > 0;
}

/** The first letter of SET, RESET, DISCARD, DEALLOCATE, PREPARE, LISTEN, UNLISTEN; or what only JavaScript may take for a blank. */
function mayBegin(code: number): boolean {
  return code >= 0x80 || beginners[code] === 1;
}

const beginners = new Uint8Array(0x80);
for (const letter of 'srdpluSRDPLU') beginners[letter.charCodeAt(0)] = 1;

/** So many of custom settings are asked for. */
export const namesMax = 100;
export const nameCharsMax = 128;

/** A SET of a name with a dot, or a string that may be such a name. */
const named =
  /\bset(?:\s+session)?(?:\s+"?|")([a-z_][\w$]*"?(?:\s*\.\s*"?[\w$]+"?)+)\s*(?:=|to\b)|'([a-z_][\w$]*(?:\.[\w$]+)+)'/gi;
const wholeName = /^[a-z_][\w$]*(?:\.[a-z_][\w$]*)+$/i;

/** Of one text. */
const namingsMax = 1_000;

/** Custom settings that a text names; null: too often to be told. */
export function customSettings(text: string): readonly string[] | null {
  const found: string[] = [];
  let namings = 0;
  for (const [, one, other] of text.matchAll(named)) {
    namings += 1;
    if (namings > namingsMax) return null;
    const name = (one?.replaceAll(/["\s]/g, '') ?? other ?? '').toLowerCase();
    if (name.length <= nameCharsMax) found.push(name);
  }
  return found;
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

/** A block of code, which may put together what it executes. */
const doBlock = new RegExp(doesBlock, 'i');

/** A text may set a custom setting whose name is not among those that `customSettings` finds, nor among parameters. */
export function setsHidden(text: string): boolean {
  return (
    hiddenConfig.test(text) ||
    (settingWord.test(text) && someStatement(text, hiddenStatement)) ||
    (doBlock.test(text) && /\bexecute\b/i.test(text))
  );
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

/** An EXECUTE gives strings and numbers as they are, so that all names among them are found. */
export function hasPlainValues(text: string): boolean {
  const bare = text.replaceAll(/'[^']*'/g, '');
  return bare.split('(').length <= 2 && !/[$|&/]|--/.test(bare) && !text.includes('\\');
}

/** A custom setting, if a parameter of a statement may be the name of one. */
export function customSettingNamed(parameter: string): string | null {
  return parameter.length <= nameCharsMax && wholeName.test(parameter) ? parameter.toLowerCase() : null;
}
