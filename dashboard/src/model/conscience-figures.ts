/** What the conscience says of the load in figures, and how grave each is. Pure. */
import type { LoadFinding, LoadStatus } from '../../../server/src/api/load.ts';

export interface ConscienceFigure {
  readonly id: 'acknowledged' | 'lost' | 'stale' | 'risen' | 'unknown';
  readonly value: number;
  readonly name: string;
  readonly tone: 'good' | 'warn' | 'bad' | null;
}

export interface ConscienceView {
  readonly figures: readonly ConscienceFigure[];
  readonly tone: 'good' | 'bad' | 'idle';
}

/** Reads are among them where they are judged; what was refused and is there all the same, when there is such a thing. */
export function conscienceOf({ counts, lost, risen, stale, replicas }: LoadStatus): ConscienceView {
  // While nobody can be looked into, nothing is known of what is lost.
  const isTold = replicas.some(({ problem, checkedAgoMs }) => problem === null && checkedAgoMs !== null);
  const good = isTold ? 'good' : null;
  const figures: readonly (ConscienceFigure | null)[] = [
    { id: 'acknowledged', value: counts.acknowledged, name: 'acknowledged', tone: null },
    {
      id: 'lost',
      value: lost,
      name: isTold ? 'lost' : 'found lost; nobody can be asked now',
      tone: lost > 0 ? 'bad' : good,
    },
    stale === undefined
      ? null
      : {
          id: 'stale',
          value: stale,
          name: stale === 1 ? 'stale read' : 'stale reads',
          // Of no reads at all nothing is known.
          tone: stale > 0 ? 'bad' : counts.reads > 0 ? 'good' : null,
        },
    risen === 0 ? null : { id: 'risen', value: risen, name: 'refused, yet there', tone: 'bad' },
    { id: 'unknown', value: counts.unknown, name: 'unknown', tone: counts.unknown > 0 ? 'warn' : null },
  ];
  const isBad = lost > 0 || risen > 0 || (stale ?? 0) > 0;
  return {
    figures: figures.filter((figure) => figure !== null),
    tone: isBad ? 'bad' : isTold ? 'good' : 'idle',
  };
}

/** Of what must not be, the first of its kind. */
export function spellFinding({ kind, row, replica, acknowledgedAtMs, foundAtMs }: LoadFinding): string {
  const told = acknowledgedAtMs === null ? '' : `, acknowledged at ${seconds(acknowledgedAtMs)},`;
  const missed = kind === 'lost' ? `is not at ${replica}` : `was not shown to a read at ${replica}`;
  return `Write ${row}${told} ${missed}: found at ${seconds(foundAtMs)}.`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
