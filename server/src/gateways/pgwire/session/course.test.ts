import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StatementKind } from '../codec/statement-kinds.ts';
import { Course, type Verdict } from './course.ts';

/** `;` ends a message. */
type Step = StatementKind | ';';

function verdict(inBlock: boolean, steps: readonly Step[]): Verdict {
  const course = new Course();
  course.reset(inBlock);
  for (const step of steps) {
    if (step === ';') course.endMessage();
    else course.statement(step);
  }
  return course.verdict;
}

describe('what may have been committed', () => {
  it.each<[boolean, readonly Step[], Verdict]>([
    [false, [], 'nothing'],
    [false, ['plain'], 'nothing'],
    [false, ['plain', ';'], 'one'],
    [false, ['plain', 'plain', ';'], 'one'],
    [false, ['plain', ';', 'plain', ';'], 'several'],
    [false, ['setting', ';'], 'nothing'],
    [false, ['begin', 'plain', ';'], 'nothing'],
    [false, ['begin', 'plain', 'commit', ';'], 'one'],
    [false, ['plain', 'begin', ';'], 'nothing'],
    [false, ['plain', 'commit', ';'], 'one'],
    [false, ['plain', 'rollback', ';'], 'nothing'],
    [false, ['commit', ';'], 'nothing'],
    [true, ['plain', ';', 'plain', ';'], 'nothing'],
    [true, ['commit', ';'], 'one'],
    [true, ['plain', 'commit', ';', 'plain', ';'], 'several'],
    [true, ['commitChain', ';'], 'one'],
    [true, ['commitChain', ';', 'plain', ';'], 'several'],
    [true, ['rollback', ';'], 'nothing'],
    [true, ['rollback', ';', 'plain', ';'], 'several'],
    [true, ['rollbackChain', 'plain', ';'], 'several'],
    [true, ['commit', 'setting', ';'], 'one'],
    [true, ['commit', 'begin', ';'], 'several'],
    [true, ['prepare', ';'], 'several'],
    [true, ['procedure', ';'], 'several'],
    [false, ['alone', ';'], 'several'],
    [false, ['unclear', ';'], 'several'],
  ])('in a block %s, %j: %s', (inBlock, steps, expected) => {
    expect(verdict(inBlock, steps)).toBe(expected);
  });

  it('is never less than what PostgreSQL would commit', () => {
    const step = fc.constantFrom<Step>(
      'plain',
      'begin',
      'commit',
      'commitChain',
      'rollback',
      'rollbackChain',
      'setting',
      ';',
    );
    fc.assert(
      fc.property(fc.boolean(), fc.array(step, { maxLength: 12 }), (inBlock, steps) => {
        const { committed, ids } = run(inBlock, steps);
        const said = verdict(inBlock, steps);
        expect(committed.length).toBeLessThanOrEqual({ nothing: 0, one: 1, several: Infinity }[said]);
        // Whatever transaction was seen to be open decides: it is the one that was committed.
        const decides = said === 'one' ? [...ids] : [];
        expect(decides.filter((id) => id !== committed[0])).toEqual([]);
      }),
    );
  });
});

/** PostgreSQL without failures: the transactions that it commits, and those that have written at some time. */
function run(inBlock: boolean, steps: readonly Step[]): { committed: number[]; ids: Set<number> } {
  const committed: number[] = [];
  const ids = new Set<number>();
  let block: 'none' | 'implicit' | 'explicit' = inBlock ? 'explicit' : 'none';
  let transaction = 1;
  if (inBlock) ids.add(transaction);
  function end(commits: boolean, chains: boolean): void {
    if (block === 'none') return;
    if (commits && ids.has(transaction)) committed.push(transaction);
    transaction += 1;
    block = chains ? 'explicit' : 'none';
  }
  for (const step of steps) {
    if (step === 'plain') {
      if (block === 'none') block = 'implicit';
      ids.add(transaction);
    } else if (step === 'begin') block = 'explicit';
    else if (step === ';') {
      if (block === 'implicit') end(true, false);
    } else if (step.startsWith('commit')) end(true, step === 'commitChain');
    else if (step.startsWith('rollback')) end(false, step === 'rollbackChain');
  }
  return { committed, ids };
}
