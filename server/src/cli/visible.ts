/** Names of a client's choosing, and whatever else of the group is printed: a terminal must not take a part of it for a command. */

/** All but a line's end and a tab. */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Control characters as `\\x1b`. */
export function visible(text: string): string {
  return text.replaceAll(controls, asCode);
}

/** The end of a line, too. */
export function visibleInLine(text: string): string {
  return visible(text).replaceAll(/[\n\t]/g, asCode);
}

function asCode(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
