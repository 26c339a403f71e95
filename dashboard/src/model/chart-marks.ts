/**
 * What befell the group, as marks in the charts: elections, faults and what took them back. Pure.
 *
 * Keeps: at most `marksMax`, the newest, none after the moment that is looked at.
 */
import type { Flag } from '../timeline/tracks.ts';
import type { LeaderChange } from './rate-series.ts';

export interface ChartMark {
  readonly atMs: number;
  readonly kind: 'election' | 'fault' | 'mended';
  /** Short enough to stand beside a line. */
  readonly label: string;
  /** In whole words. */
  readonly text: string;
}

export const marksMax = 80;

interface Happened {
  readonly leaderChanges: readonly LeaderChange[];
  readonly flags: readonly Flag[];
}

export function chartMarks({ leaderChanges, flags }: Happened, untilMs: number): readonly ChartMark[] {
  const elections = leaderChanges.map(
    ({ at, leader }): ChartMark => ({
      atMs: at,
      kind: 'election',
      label: leader ?? 'nobody',
      text: leader === null ? 'nobody leads' : `${leader} leads`,
    }),
  );
  const others = flags.map(({ atMs, kind, text }): ChartMark => {
    const isMended = kind === 'started' || kind === 'resumed' || kind === 'healed';
    return { atMs, kind: isMended ? 'mended' : 'fault', label: text, text };
  });
  return [...elections, ...others]
    .filter(({ atMs }) => atMs <= untilMs)
    .sort((one, other) => one.atMs - other.atMs)
    .slice(-marksMax);
}

/** What befell in the second that a sample is about: from the one before it on. */
export function marksAt(marks: readonly ChartMark[], fromMs: number, toMs: number): readonly ChartMark[] {
  return marks.filter(({ atMs }) => atMs > fromMs && atMs <= toMs);
}
