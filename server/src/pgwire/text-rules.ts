/** How PostgreSQL reads the SQL of a session, as far as that depends on the session's settings. Pure. */

export interface TextRules {
  /** `standard_conforming_strings` is off: a backslash escapes in every string. */
  readonly backslashEscapes: boolean;
  /** `client_encoding` has characters in which a byte below 128 occurs. */
  readonly mixedBytes: boolean;
}

export const usualRules: TextRules = { backslashEscapes: false, mixedBytes: false };

/** PostgreSQL has them at clients only. */
export const mixedEncodings: ReadonlySet<string> = new Set([
  'SJIS',
  'SHIFT_JIS_2004',
  'BIG5',
  'GBK',
  'UHC',
  'GB18030',
  'JOHAB',
]);

/** After PostgreSQL has told a setting (ParameterStatus). */
export function rulesAfter(rules: TextRules, name: string, value: string): TextRules {
  if (name === 'standard_conforming_strings') return { ...rules, backslashEscapes: value === 'off' };
  if (name === 'client_encoding') return { ...rules, mixedBytes: mixedEncodings.has(value.toUpperCase()) };
  return rules;
}
