import { describe, expect, it } from 'vitest';
import { actionsTaken, actionsTold, sightsSeen } from './coverage.ts';

const SOURCE = ['Next ==', '  \\/ Go(1)', '  \\/ \\E k \\in Ways(r) : Stop(r, k)'].join('\n');

function statistics(...lines: readonly string[]): string {
  return ['The coverage statistics at 2026-01-01 00:00:00', ...lines, 'End of statistics.'].join('\n');
}

describe('actions taken', () => {
  const sourceOf = (module: string): string | null => (module === 'M' ? SOURCE : null);

  it('are those with a count', () => {
    const output = statistics(
      '<Go line 4, col 1 to line 4, col 5 of module M (5 7 9 9)>: 0:12',
      '<Wait line 6, col 1 to line 6, col 5 of module M>: 0:0',
    );
    expect([...actionsTaken(output, sourceOf)]).toEqual(['Go']);
  });

  it('are named by what stands at their place, where TLC has no name for them', () => {
    const taken = actionsTaken(
      statistics('<Next line 1, col 1 to line 1, col 4 of module M (3 6 3 36)>: 3:7'),
      sourceOf,
    );
    expect(taken.has('Stop')).toBe(true);
    expect(taken.has('Go')).toBe(false);
  });

  it('go by the last statistics, not by those of a run that was not finished', () => {
    const early = statistics('<Go line 4, col 1 to line 4, col 5 of module M>: 1:1');
    const late = statistics('<Go line 4, col 1 to line 4, col 5 of module M>: 0:0');
    expect(actionsTaken(`${late}\n${early}`, sourceOf).has('Go')).toBe(true);
    expect(actionsTaken(`${early}\n${late}`, sourceOf).has('Go')).toBe(false);
  });

  it('are also those that a model names itself', () => {
    expect([...actionsTold('<<"taken", "Go">>\n<<"seen", "x">>\n<<"taken", "Stop">>\n')]).toEqual([
      'Go',
      'Stop',
    ]);
  });
});

describe('sights', () => {
  it('are what a model printed', () => {
    expect([
      ...sightsSeen('x\n<<"seen", "two leaders">>\n<<"seen", "two leaders">>\n<<"matched", 1>>\n'),
    ]).toEqual(['two leaders']);
  });
});
