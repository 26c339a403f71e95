/**
 * Blanks the passwords in a statement that others may read.
 *
 * Responsible for: what stands behind the word PASSWORD, in whichever of PostgreSQL's forms of a text, and `password=` in a connection string. Blanks too much rather than too little, also of a statement that
 * was cut off in the middle. Pure. Not for statements that will be run.
 */
const gap = String.raw`(?:\s|/\*[\s\S]*?\*/|--[^\n]*\n)*`;
const quoted = String.raw`(?:E|U&|N)?'(?:[^'\\]|''|\\[\s\S])*(?:'|\\?$)`;
const dollars = String.raw`\$(?<tag>\w*)\$[\s\S]*?(?:\$\k<tag>\$|$)`;
const literal = new RegExp(
  `(\\bpassword"?${gap}=?${gap})(?:${quoted}(?:\\s*\\n\\s*${quoted})*|${dollars})`,
  'gi',
);
const inConnectionString = /(\bpassword=)(?:\\?''(?:[^']|''(?!\s|'|$))*''|[^\s'"$]+)/gi;

export function withoutPasswords(sql: string): string {
  return sql.replace(literal, "$1'…'").replace(inConnectionString, '$1…');
}
