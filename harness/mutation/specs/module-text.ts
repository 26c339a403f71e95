/**
 * The text of a TLA+ module, as far as altering it needs: what is comment, and which definition stands where.
 *
 * Responsible for: that nothing is altered in comments and strings, and that places are named. Knows no grammar. Pure.
 */

export interface Definition {
  readonly name: string;
  /** Where its text begins and ends in the module: offsets. */
  readonly from: number;
  readonly to: number;
}

/** The same text with blanks in place of comments and of what strings hold: offsets stay. */
export function masked(text: string): string {
  const blank = (piece: string): string => piece.replace(/[^\n]/g, ' ');
  const noStrings = text.replace(/\\\*[^\n]*|"[^"\n]*"/g, (piece) =>
    piece.startsWith('"') ? `"${'_'.repeat(piece.length - 2)}"` : blank(piece),
  );
  let result = '';
  let depth = 0;
  for (let i = 0; i < noStrings.length; i += 1) {
    const two = noStrings.slice(i, i + 2);
    if (two === '(*' || (two === '*)' && depth > 0)) {
      depth += two === '(*' ? 1 : -1;
      result += '  ';
      i += 1;
    } else result += depth > 0 ? blank(noStrings[i] ?? '') : noStrings[i];
  }
  return result;
}

const HEAD =
  /^(?:([A-Za-z]\w*)(?:\([^)\n]*\))?[ \t]*==|(?:RECURSIVE|VARIABLES?|CONSTANTS?|ASSUME|EXTENDS|-{4}|={4}))/gm;

/** The definitions of the top level, in their order. `code` is masked. */
export function definitions(code: string): readonly Definition[] {
  const heads = [...code.matchAll(HEAD)];
  return heads.flatMap((head, i) => {
    const name = head[1];
    if (name === undefined) return [];
    const to = heads[i + 1]?.index ?? code.length;
    return [{ name, from: head.index + head[0].length, to }];
  });
}

export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** The modules that this one extends, by name. */
export function extended(code: string): readonly string[] {
  const names = /^EXTENDS([^\n]*)/m.exec(code)?.[1] ?? '';
  return names.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));
}
