import { describe, expect, test } from 'vitest';
import { mirrored, sameFault, withAmount } from './link-fault.ts';

const back = { from: 'r2', to: 'r1' };
const cut = { cut: true, delayMs: 0, drop: 0, duplicate: 0 };
const slow = { cut: false, delayMs: 200, drop: 0.3, duplicate: 0 };

describe('both directions of a link', () => {
  test('are made alike by what the one has and the other lacks', () => {
    expect(mirrored(cut, null, back)).toEqual([{ action: 'cut', ...back, amount: 1 }]);
    expect(mirrored(slow, cut, back)).toEqual([
      { action: 'cut', ...back, amount: 0 },
      { action: 'delay', ...back, amount: 200 },
      { action: 'drop', ...back, amount: 0.3 },
    ]);
    expect(mirrored(null, cut, back)).toEqual([{ action: 'cut', ...back, amount: 0 }]);
  });

  test('take what was asked a moment ago as done', () => {
    expect(withAmount(null, 'cut', 1)).toEqual(cut);
    expect(withAmount(withAmount(cut, 'cut', 0), 'delay', 200)).toEqual({ ...slow, drop: 0 });
  });

  test('are alike when all parts are: then nothing is asked', () => {
    expect(mirrored(slow, { ...slow }, back)).toEqual([]);
    expect(mirrored(null, null, back)).toEqual([]);
    expect([sameFault(slow, { ...slow }), sameFault(slow, cut), sameFault(cut, null)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
