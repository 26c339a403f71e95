/** Words are explained by the glossary itself, and each that a view explains stands there. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseGlossary, piecesOf } from './glossary.ts';
import { explainedWords, glossary } from './words.ts';

const table = `# Glossary

| word | meaning |
|---|---|
| voter, learner | A member that **counts**; one that does *not*. |
| prepare / promise | Phase 1, see [the core](core.md): \`ballot\`. |
| application pointer (AP) | Everything below. |
| voter | Something else. |
`;

describe('the glossary', () => {
  it('is read from its table, a word of two by each of them, without marks', () => {
    expect([...parseGlossary(table)]).toEqual([
      ['voter', 'A member that counts; one that does not.'],
      ['learner', 'A member that counts; one that does not.'],
      ['prepare', 'Phase 1, see the core: ballot.'],
      ['promise', 'Phase 1, see the core: ballot.'],
      ['application pointer', 'Everything below.'],
      ['ap', 'Everything below.'],
    ]);
  });

  it('has every word that a view explains', () => {
    const src = join(import.meta.dirname, '..');
    const texts = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.tsx'))
      .map((name) => readFileSync(join(src, name), 'utf8'));
    const used = texts.flatMap((text) =>
      [...text.matchAll(/<Term word="([^"]+)"/g)].map(([, word]) => word!),
    );
    expect(used.length).toBeGreaterThan(3);
    const missing = [...used, ...explainedWords].filter((word) => !glossary.has(word.toLowerCase()));
    expect(missing).toEqual([]);
  });
});

describe('words in a text', () => {
  it('are found once each, longest first, also in the plural, and nothing of the text is lost', () => {
    const text = 'Ballots order ballots; the commit point is no commit.';
    const pieces = piecesOf(text, ['ballot', 'commit', 'commit point']);
    expect(pieces.map((piece) => piece.text).join('')).toBe(text);
    expect(pieces.filter(({ word }) => word !== null)).toEqual([
      { text: 'Ballots', word: 'ballot' },
      { text: 'commit point', word: 'commit point' },
      { text: 'commit', word: 'commit' },
    ]);
  });

  it('are names of incarnations, too, which are explained once', () => {
    const explained = piecesOf('r2.2 learns: r2.2 is another incarnation, of WAL 0/3.2.', ['incarnation']);
    expect(explained.filter(({ word }) => word !== null)).toEqual([{ text: 'r2.2', word: 'incarnation' }]);
    expect(piecesOf('r2.2', ['ballot'])).toEqual([{ text: 'r2.2', word: null }]);
  });

  it('are whole words', () => {
    expect(piecesOf('revote, voted', ['vote'])).toEqual([{ text: 'revote, voted', word: null }]);
  });
});
