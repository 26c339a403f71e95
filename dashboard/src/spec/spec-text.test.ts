import { describe, expect, it } from 'vitest';
import { modulesBelow } from './modules-below.ts';
import { definitionsIn, modulesNamedIn, tokensIn } from './spec-text.ts';

const text = `---- MODULE Small ----
EXTENDS MCSmall,
  Naturals

Refined == INSTANCE Above WITH x <- y

(* Pick: a leader ignores
   what it found. (* Really. *) *)
Pick(votes) ==
  /\\ votes = {} \\* none
  /\\ "a == b" \\in names

  /\\ x' = 1
\\* Another one.
Next == Pick({})
====
`;

describe('the text of a module', () => {
  it('has its definitions where they stand, with what is said right above them', () => {
    const found = definitionsIn(text);
    expect([...found.keys()]).toEqual(['Refined', 'Pick', 'Next']);
    expect(found.get('Pick')).toMatchObject({ first: 9, last: 13 });
    expect(found.get('Next')).toMatchObject({ first: 15, last: 15, comment: 'Another one.' });
  });

  it('names the modules that it rests on', () => {
    expect(modulesNamedIn(text)).toEqual(['MCSmall', 'Naturals', 'Above']);
  });

  it('rests on modules at any depth, each asked for once, the module itself first', () => {
    const texts: Readonly<Record<string, string>> = {
      Top: 'EXTENDS Middle, Naturals\n\nR == INSTANCE Low\n',
      Middle: 'EXTENDS Low, Naturals\n\n',
      Low: 'EXTENDS Top\n\n',
    };
    const below = modulesBelow('Top');
    const asked: string[] = [];
    let next = below.next();
    while (next.done !== true) {
      asked.push(next.value);
      next = below.next(texts[next.value] ?? null);
    }
    expect(asked).toEqual(['Top', 'Middle', 'Naturals', 'Low']);
    expect([...next.value.keys()]).toEqual(['Top', 'Middle', 'Low']);
  });

  it('is split into words without losing any of it, comments over several lines and within each other as well', () => {
    const lines = tokensIn(text);
    expect(lines.map((tokens) => tokens.map((token) => token.text).join('')).join('\n')).toBe(text);
    const kinds = (line: number): string[] => lines[line - 1]!.map(({ kind }) => kind);
    expect(kinds(7)).toEqual(['comment']);
    expect(kinds(8)).toEqual(['comment']);
    expect(lines[8]![0]).toMatchObject({ kind: 'definition', text: 'Pick' });
    expect(lines[9]!.at(-1)).toMatchObject({ kind: 'comment', text: '\\* none' });
    expect(lines[10]!.find(({ kind }) => kind === 'string')?.text).toBe('"a == b"');
  });
});
