/**
 * What the load's clients were told, as bars under the lanes of replicas: geometry. Pure.
 *
 * Invariant: bars do not overlap in time; where nobody was answered there is none.
 */
import type { LoadSample } from '../model/load-series.ts';
import { type Scale, xOf } from './scale.ts';

export type AnswerKind = 'acknowledged' | 'refused' | 'unknown';

/** `from` and `to`: shares of the band's height, from its foot. */
export interface AnswerBar {
  readonly kind: AnswerKind;
  readonly x: number;
  readonly width: number;
  readonly from: number;
  readonly to: number;
}

const kinds: readonly AnswerKind[] = ['acknowledged', 'refused', 'unknown'];
/** What was told behind a longer silence of the source was told at its end. */
const longestMs = 1_500;
const gap = 1;

/** The tallest in view fills the band: by requests a second. */
export function answerBars(samples: readonly LoadSample[], scale: Scale): readonly AnswerBar[] {
  const parts = samples.flatMap((sample, index) => {
    const before = samples[index - 1];
    const fromMs = Math.max(before?.atMs ?? sample.atMs, sample.atMs - longestMs);
    const ms = sample.atMs - fromMs;
    return ms > 0 && sample.atMs >= scale.fromMs && fromMs <= scale.toMs ? [{ sample, fromMs, ms }] : [];
  });
  const rateOf = (part: (typeof parts)[number], kind: AnswerKind): number => part.sample[kind] / part.ms;
  const most = Math.max(
    ...parts.map((part) => kinds.reduce((sum, kind) => sum + rateOf(part, kind), 0)),
    Number.MIN_VALUE,
  );
  return parts.flatMap((part) => {
    const x = xOf(scale, part.fromMs);
    const width = Math.max(1, xOf(scale, part.sample.atMs) - x - gap);
    let from = 0;
    return kinds.flatMap((kind) => {
      const to = from + rateOf(part, kind) / most;
      const bar = { kind, x, width, from, to };
      from = to;
      return bar.to > bar.from ? [bar] : [];
    });
  });
}

/** Where something was found to be lost. */
export function lossesIn(samples: readonly LoadSample[], scale: Scale): readonly number[] {
  return samples
    .filter(({ lost, atMs }) => lost > 0 && atMs >= scale.fromMs && atMs <= scale.toMs)
    .map(({ atMs }) => xOf(scale, atMs));
}
