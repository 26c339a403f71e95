/**
 * What the load's clients were told over time: how many of their requests came to what, between one frame and the next.
 *
 * Pure. Keeps: at most `samplesMax` samples; a load that begins anew, whose counts go back, begins with nothing told.
 */
import type { LoadCounts, LoadStatus } from '../../../server/src/api/load.ts';

const samplesMax = 1_200;

/** Told up to `atMs`, on the run's clock, since the sample before. */
export interface LoadSample {
  readonly atMs: number;
  readonly acknowledged: number;
  readonly refused: number;
  readonly unknown: number;
  readonly lost: number;
}

export interface LoadSeries {
  /** Null: the run has no load. */
  readonly status: LoadStatus | null;
  readonly samples: readonly LoadSample[];
}

export const emptyLoad: LoadSeries = { status: null, samples: [] };

export function addLoad(
  { status: before, samples }: LoadSeries,
  status: LoadStatus,
  atMs: number,
): LoadSeries {
  const isSame = before !== null && status.counts.acknowledged >= before.counts.acknowledged;
  const since = (count: keyof LoadCounts): number =>
    isSame ? Math.max(0, status.counts[count] - before.counts[count]) : 0;
  const sample = {
    atMs,
    acknowledged: since('acknowledged'),
    refused: since('refused'),
    unknown: since('unknown'),
    lost: isSame ? Math.max(0, status.lost - before.lost) : 0,
  };
  return { status, samples: [...samples, sample].slice(-samplesMax) };
}

/** Writes that were acknowledged in a second, over the last few; null: too little is known. */
export function acknowledgedPerSecond({ samples }: LoadSeries): number | null {
  const last = samples.slice(-perSecondOver);
  const [first] = last;
  if (first === undefined || last.length < 2) return null;
  const ms = last.at(-1)!.atMs - first.atMs;
  const told = last.slice(1).reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  return ms > 0 ? (1000 * told) / ms : null;
}

const perSecondOver = 6;
