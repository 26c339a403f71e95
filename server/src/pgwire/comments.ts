/** The comments of a text. Pure, linear in the text. */

const beginning = /\/\*|--/g;
const lineEnd = /[\n\r]/g;

/** With a blank for each comment. Comments within comments are not told apart, and quotes are not heeded; a comment that does not end stays. */
export function withoutComments(text: string): string {
  const parts: string[] = [];
  let from = 0;
  let isOpen = false;
  beginning.lastIndex = 0;
  for (let sign = beginning.exec(text); sign !== null; sign = beginning.exec(text)) {
    const isLine = sign[0] === '--';
    if (!isLine && isOpen) continue;
    const end = isLine ? endOfLine(text, sign.index) : text.indexOf('*/', sign.index + 2) + 2;
    // No later one ends, either.
    if (!isLine && end === 1) isOpen = true;
    else {
      parts.push(text.slice(from, sign.index), ' ');
      from = end;
      beginning.lastIndex = end;
    }
  }
  parts.push(text.slice(from));
  return parts.join('');
}

function endOfLine(text: string, from: number): number {
  lineEnd.lastIndex = from;
  return lineEnd.exec(text)?.index ?? text.length;
}
