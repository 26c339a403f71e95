/**
 * Of a primary that is traced: which transactions were shipped and are not released yet.
 *
 * Responsible for: naming those that a report to PostgreSQL releases. Holds nothing of a range that commits none; the core's window bounds the others.
 */
import type { Lsn } from '../../wal/lsn.ts';

export class ShippedCommits {
  private waiting: { readonly end: Lsn; readonly commits: readonly string[] }[] = [];

  /** A range was proposed that ends here. */
  add(end: Lsn, commits: readonly string[]): void {
    if (commits.length > 0) this.waiting.push({ end, commits });
  }

  /** Those of the ranges that end at or below `position`, each once. */
  takeUpTo(position: Lsn): readonly string[] {
    const taken = this.waiting.filter(({ end }) => end <= position);
    this.waiting = this.waiting.slice(taken.length);
    return taken.flatMap(({ commits }) => commits);
  }
}
