/**
 * What a modelled PostgreSQL takes away that nobody sees any more, and what it keeps for those who may still ask. Pure.
 *
 * A primary decides and says so in its WAL, so that all who replay it come to the same.
 */
import { segmentStart, type Lsn } from '../../../wal/lsn.ts';
import type { Row } from './model-disk.ts';

export interface Retention {
  /** Of so many transactions the outcome can still be asked for. */
  readonly outcomes: bigint;
  /** So much WAL back the list of all commits reaches. */
  readonly commitsBytes: number;
  /** So much WAL is kept below what is needed, for whoever begins to read where a segment begins. */
  readonly walBytes: number;
}

/** All transactions below `horizon` have ended, and everybody sees what became of them. */
export interface Vacuum {
  readonly horizon: bigint;
  /** Outcomes of transactions below are let go of. */
  readonly outcomesFrom: bigint;
  /** Where the commits lie that stay in the list of all of them. */
  readonly commitsFrom: Lsn;
}

export function vacuumAt(end: Lsn, horizon: bigint, { outcomes, commitsBytes }: Retention): Vacuum {
  const outcomesFrom = horizon > outcomes ? horizon - outcomes : 0n;
  return { horizon, outcomesFrom, commitsFrom: Math.max(0, end - commitsBytes) as Lsn };
}

/** Segments below this one go; `at`: from where on WAL is needed. */
export function walFrom(at: Lsn, { walBytes }: Retention): Lsn {
  return segmentStart(Math.max(0, at - walBytes) as Lsn);
}

/** The rows of one page without those that nobody sees: of transactions below `horizon` that are not committed, and what was dropped by one that is. The same array if that is all of them. */
export function vacuumed(
  rows: readonly Row[],
  horizon: bigint,
  isCommitted: (xid: bigint) => boolean,
): readonly Row[] {
  const counts = (row: Row): boolean => row.xid >= horizon || isCommitted(row.xid);
  const dropped = rows.findLastIndex((row) => row.value === null && row.xid < horizon && counts(row));
  const kept = rows.filter((row, index) => index > dropped && counts(row));
  return kept.length === rows.length ? rows : kept;
}
