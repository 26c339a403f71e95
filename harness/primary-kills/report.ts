/** What the kills of a primary came to, level by level, and whether each level kept its promise. Pure. */
import type { Level } from '../../server/src/primary/types/effects.ts';
import type { LevelResult } from './kill-primary.ts';

/** Of kill -9: `none` has all on its primary's disk, which comes back. */
const losesNothing: Readonly<Record<Level, boolean>> = {
  none: true,
  async: false,
  majority: true,
  semi: true,
  sync: true,
};

export interface LevelTotals {
  readonly level: Level;
  readonly kills: number;
  readonly acknowledged: number;
  readonly lost: number;
  /** Kills that lost something. */
  readonly losingKills: number;
  readonly unknown: number;
  readonly unknownAndThere: number;
  readonly silentMsMedian: number;
  readonly backMsMedian: number;
}

export function totalsOf({ level, kills, unknown, unknownAndThere }: LevelResult): LevelTotals {
  const sum = (each: (kill: LevelResult['kills'][number]) => number): number =>
    kills.reduce((total, kill) => total + each(kill), 0);
  return {
    level,
    kills: kills.length,
    acknowledged: sum(({ acknowledged }) => acknowledged),
    lost: sum(({ lost }) => lost),
    losingKills: kills.filter(({ lost }) => lost > 0).length,
    unknown,
    unknownAndThere,
    silentMsMedian: median(kills.map(({ silentMs }) => silentMs)),
    backMsMedian: median(kills.map(({ backMs }) => backMs)),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0);
}

/** What is wrong by the level's own promise, or at any level. */
export function findingsOf(result: LevelResult): readonly string[] {
  const { level, lost } = totalsOf(result);
  const broken = losesNothing[level] && lost > 0 ? [`${lost} acknowledged rows are lost`] : [];
  return [...broken, ...result.wrong].map((finding) => `${level}: ${finding}`);
}

const columns = [
  'level',
  'kills',
  'acknowledged',
  'lost',
  'in kills',
  'unknown',
  'of these there',
  'silent',
  'back',
];

/** In Markdown. */
export function describeTotals(all: readonly LevelTotals[]): readonly string[] {
  const rows = all.map((of) => [
    of.level,
    of.kills,
    of.acknowledged,
    of.lost,
    of.losingKills,
    of.unknown,
    of.unknownAndThere,
    `${of.silentMsMedian} ms`,
    `${of.backMsMedian} ms`,
  ]);
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  return [line(columns), `|---${'|--:'.repeat(columns.length - 1)}|`, ...rows.map(line)];
}
