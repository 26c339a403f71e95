/** Names of a client's choosing, and whatever else of the group is printed: a terminal must not take a part of it for a command. */

const newline = 10;
const tab = 9;

/** Control characters as `\\x1b`, but for the end of a line and a tab. */
export function visible(text: string): string {
  return escape(text, (code) => code !== newline && code !== tab);
}

/** The end of a line, too. */
export function visibleInLine(text: string): string {
  return escape(text, () => true);
}

function escape(text: string, which: (code: number) => boolean): string {
  return text.replaceAll(/\p{Cc}/gu, (character) => {
    const code = character.codePointAt(0)!;
    return which(code) ? `\\x${code.toString(16).padStart(2, '0')}` : character;
  });
}
