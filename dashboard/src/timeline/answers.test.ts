import { describe, expect, test } from 'vitest';
import type { LoadSample } from '../model/load-series.ts';
import { answerBars, lossesIn } from './answers.ts';

const scale = { fromMs: 0, toMs: 10_000, left: 0, right: 1_000 };

function sample(atMs: number, told: Partial<LoadSample> = {}): LoadSample {
  return { atMs, acknowledged: 0, refused: 0, unknown: 0, lost: 0, ...told };
}

describe('the band of answers', () => {
  test('has a bar for each stretch, of what was told in it, the busiest the highest', () => {
    const bars = answerBars(
      [
        sample(1_000),
        sample(1_500, { acknowledged: 10 }),
        sample(2_000, { acknowledged: 3, refused: 1, unknown: 1 }),
      ],
      scale,
    );
    expect(bars).toEqual([
      { kind: 'acknowledged', x: 100, width: 49, from: 0, to: 1 },
      { kind: 'acknowledged', x: 150, width: 49, from: 0, to: 0.3 },
      { kind: 'refused', x: 150, width: 49, from: 0.3, to: 0.4 },
      { kind: 'unknown', x: 150, width: 49, from: 0.4, to: 0.5 },
    ]);
  });

  test('is empty where nobody was answered, and does not smear what came behind a silence over it', () => {
    const bars = answerBars([sample(1_000), sample(1_500), sample(9_000, { acknowledged: 5 })], scale);
    expect(bars).toEqual([{ kind: 'acknowledged', x: 750, width: 149, from: 0, to: 1 }]);
  });

  test('is as high as what was told in a second, however long a stretch is', () => {
    const bars = answerBars(
      [sample(1_000), sample(1_500, { acknowledged: 10 }), sample(2_500, { acknowledged: 10 })],
      scale,
    );
    expect(bars.map(({ to }) => to)).toEqual([1, 0.5]);
  });

  test('leaves out what is not in view', () => {
    const samples = [sample(1_000), sample(1_500, { acknowledged: 10, lost: 1 })];
    expect(answerBars(samples, { ...scale, fromMs: 5_000 })).toEqual([]);
    expect(lossesIn(samples, { ...scale, fromMs: 5_000 })).toEqual([]);
    expect(lossesIn(samples, scale)).toEqual([150]);
  });
});
