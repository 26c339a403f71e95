/**
 * How long a judge may take before what it judges is taken for something that never ends.
 *
 * Responsible for: a limit that goes by what the judge takes to let something pass, on this machine, as busy as it is: the core as it is comes first.
 */
import type { JudgeName } from './judging.ts';

export interface JudgeLimits {
  /** For a judge that has let nothing pass yet. */
  readonly firstMs: number;
  readonly leastMs: number;
}

const usual: JudgeLimits = { firstMs: 15 * 60_000, leastMs: 60_000 };
/** So many times as long as the longest pass. */
const timesLonger = 6;

export class JudgeTimes {
  private readonly limits: JudgeLimits;
  private readonly longestMs = new Map<JudgeName, number>();

  constructor(limits = usual) {
    this.limits = limits;
  }

  /** It has let something pass. */
  passed(name: JudgeName, ms: number): void {
    this.longestMs.set(name, Math.max(this.longestMs.get(name) ?? 0, ms));
  }

  limitMs(name: JudgeName): number {
    const longest = this.longestMs.get(name);
    const { firstMs, leastMs } = this.limits;
    return longest === undefined ? firstMs : Math.max(leastMs, timesLonger * longest);
  }
}
