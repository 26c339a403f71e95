import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StatementKind } from '../../../pgwire/statement-kinds.ts';
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
    // BEGIN may have failed: then the statement behind it was a transaction of its own.
    [false, ['begin', ';', 'plain', ';'], 'several'],
    [false, ['begin', ';', 'plain', 'commit', ';'], 'several'],
    [false, ['plain', 'begin', ';', 'plain', ';'], 'several'],
    [false, ['begin', ';', 'commit', ';'], 'one'],
    [false, ['begin', 'plain', ';', 'commit', ';'], 'one'],
    [false, ['begin', ';', 'setting', ';'], 'nothing'],
    [false, ['begin', ';', 'rollback', ';'], 'nothing'],
    [true, ['begin', ';', 'plain', ';'], 'nothing'],
  ])('in a block %s, %j: %s', (inBlock, steps, expected) => {
    expect(verdict(inBlock, steps)).toBe(expected);
  });

  it('is never less than what PostgreSQL would commit, whatever fails', () => {
    const rare = fc.constantFrom<Step>('commit', 'commitChain', 'rollback', 'rollbackChain', 'setting');
    const frequent = fc.constantFrom<Step>('plain', 'begin', ';');
    const step = fc.oneof({ weight: 3, arbitrary: frequent }, { weight: 1, arbitrary: rare });
    const tried = fc.record({ step, fails: fc.boolean() });
    fc.assert(
      fc.property(fc.boolean(), fc.array(tried, { maxLength: 12 }), (inBlock, course) => {
        const { committed, ids } = run(inBlock, course);
        const said = verdict(
          inBlock,
          course.map((one) => one.step),
        );
        expect(committed.length).toBeLessThanOrEqual({ nothing: 0, one: 1, several: Infinity }[said]);
        // Whatever transaction was seen to be open decides: it is the one that was committed, if any was.
        const decides = said === 'one' && committed.length > 0 ? [...ids] : [];
        expect(decides.filter((id) => id !== committed[0])).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});

interface Tried {
  readonly step: Step;
  readonly fails: boolean;
}

/** PostgreSQL: the transactions that it commits, and those that have written at some time. Behind a failure it skips the rest of the message. */
function run(inBlock: boolean, course: readonly Tried[]): { committed: number[]; ids: Set<number> } {
  const postgres = new ModelPostgres(inBlock);
  for (const { step, fails } of course) postgres.take(step, fails);
  return postgres;
}

class ModelPostgres {
  readonly committed: number[] = [];
  readonly ids = new Set<number>();
  private block: 'none' | 'implicit' | 'explicit' | 'failed';
  private skips = false;
  private transaction = 1;

  constructor(inBlock: boolean) {
    this.block = inBlock ? 'explicit' : 'none';
    if (inBlock) this.ids.add(this.transaction);
  }

  take(step: Step, fails: boolean): void {
    if (step === ';') {
      this.skips = false;
      if (this.block === 'implicit') this.end(true, false);
    } else if (this.skips) return;
    else if (step.startsWith('rollback')) this.end(false, step === 'rollbackChain');
    else if (step.startsWith('commit') && this.block === 'failed') this.end(false, step === 'commitChain');
    else if (fails || this.block === 'failed') this.fail(step);
    else if (step.startsWith('commit')) this.end(true, step === 'commitChain');
    else if (step === 'begin') this.block = 'explicit';
    else if (step === 'plain') {
      if (this.block === 'none') this.block = 'implicit';
      this.ids.add(this.transaction);
    }
  }

  private end(commits: boolean, chains: boolean): void {
    if (this.block === 'none') return;
    if (commits && this.ids.has(this.transaction)) this.committed.push(this.transaction);
    this.transaction += 1;
    this.block = chains ? 'explicit' : 'none';
  }

  private fail(step: Step): void {
    this.skips = true;
    // It has written something before it failed.
    if (step === 'plain' && this.block !== 'failed') this.ids.add(this.transaction);
    // A COMMIT that fails has ended the transaction.
    if (this.block === 'implicit' || step.startsWith('commit')) this.end(false, false);
    else if (this.block === 'explicit') this.block = 'failed';
    else if (this.block === 'none') this.transaction += 1;
  }
}
