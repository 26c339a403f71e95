/** Where a walk over WAL begins, or is. Pure. */
import { walPageBytes, type Lsn } from '../lsn.ts';

/**
 * `lastRecordEnd`: of the last whole record that begins below `next`. It may lie above `next` by what means nothing: padding, or the rest of a segment. If it lies below, or is not known (null), `next` is
 * the beginning of a page. `lastRecordStart`: of the same record; null if it is not known.
 */
export interface WalkPosition {
  readonly next: Lsn;
  readonly lastRecordEnd: Lsn | null;
  readonly lastRecordStart: Lsn | null;
}

/** At the beginning of a page, or else of a record, of which nothing more is known. */
export function beginWalkAt(next: Lsn): WalkPosition {
  return { next, lastRecordEnd: next % walPageBytes === 0 ? null : next, lastRecordStart: null };
}
