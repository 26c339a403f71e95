/** The glossary as of this build. */
import text from '../../../docs/glossary.md?raw';
import { parseGlossary } from './glossary.ts';

export const glossary = parseGlossary(text);

/** Words that are explained wherever sentences of the page have them. */
export const explainedWords = [
  'incarnation',
  'chosen',
  'commit point',
  'ballot',
  'lease',
  'barrier',
  'promise',
  'quorum',
  'vote',
  'slot',
  'WAL',
  'learner',
] as const;
