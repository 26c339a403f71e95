/** Whether a text has no statement: blanks, semicolons and comments alone, nested ones among them. Pure. */
const skipped = /^(?:\s|;|--[^\n]*(?:\n|$))+/;

export function isBlankSql(text: string): boolean {
  for (let rest = text; rest !== ''; ) {
    const plain = skipped.exec(rest)?.[0].length ?? 0;
    if (plain > 0) rest = rest.slice(plain);
    else if (rest.startsWith('/*')) rest = behindComment(rest);
    else return false;
  }
  return true;
}

/** Of one that does not end: nothing. */
function behindComment(text: string): string {
  let depth = 0;
  for (const { 0: mark, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1;
    if (depth === 0) return text.slice(index + 2);
  }
  return '';
}
