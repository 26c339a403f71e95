import { expect, it } from 'vitest';
import type { TraceMutant } from './alterations.ts';
import type { TraceVerdict } from './judging.ts';
import { scoreOf, tellScore } from './score.ts';

/** Classes are told by letters; the number says which event is altered. */
const mutant = (className: string, seq: number): TraceMutant =>
  ({ name: `${className} (${seq})`, className, target: { seq }, by: [] }) as unknown as TraceMutant;

const judged = (className: string, verdict: TraceVerdict, seq = 1) => ({
  mutant: mutant(className, seq),
  verdict,
  source: 'a run',
  line: seq,
});

const all = [
  judged('a', 'rejected'),
  judged('b', 'contradicted'),
  judged('c', 'unreadable'),
  judged('d', 'accepted'),
  judged('e', 'accepted', 2),
];

const score = (explained: readonly string[]) =>
  scoreOf({
    judged: all,
    explanations: new Map(explained.map((what) => [what, 'it may be'])),
    all: new Set([...all.map((one) => one.mutant.className), 'f']),
  });

it('a score tells what rejected an alteration', () => {
  const { mutants, killed, verdicts } = score([]);
  expect({ mutants, killed }).toEqual({ mutants: 5, killed: 3 });
  expect(verdicts).toEqual({ accepted: 2, rejected: 1, contradicted: 1, unreadable: 1, unjudged: 0 });
  expect(tellScore(score([])).at(-1)).toBe('0 that were accepted are explained, 2 are not');
});

it('what is accepted is explained or not, and an explanation of what is rejected or not made is stale', () => {
  const { survivors, explained, stale } = score(['a', 'd', 'f', 'z']);
  expect(explained.map(({ what }) => what)).toEqual(['d']);
  expect(survivors.map(({ what }) => what)).toEqual(['e']);
  expect(stale).toEqual(['a', 'z']);
});
