/**
 * How long something took lately: the median of the newest times, counted in looks. Pure.
 *
 * Responsible for: one value that a single slow moment does not move, and that is not told when it is old. Invariant: at most `newest` times are kept.
 */

export interface RecentTimesOptions {
  /** The median is of so many times at most. */
  readonly newest: number;
  /** A time that is more looks old is forgotten. */
  readonly looksMax: number;
}

export class RecentTimes {
  private readonly options: RecentTimesOptions;
  private times: { readonly look: number; readonly ms: number }[] = [];
  private look = 0;

  constructor(options: RecentTimesOptions) {
    this.options = options;
  }

  /** One look. Null: nothing was done since the last one. */
  take(ms: number | null): void {
    const { newest, looksMax } = this.options;
    this.look += 1;
    const oldest = this.look - looksMax;
    const kept = this.times.filter(({ look }) => look > oldest);
    if (ms !== null) kept.push({ look: this.look, ms });
    this.times = kept.slice(-newest);
  }

  /** Null: there are fewer times than `least`. Of an even number of times the lower of the two in the middle. */
  median(least: number): number | null {
    const { times } = this;
    if (times.length < least) return null;
    const sorted = times.map(({ ms }) => ms).toSorted((a, b) => a - b);
    return sorted[Math.floor((sorted.length - 1) / 2)]!;
  }

  clear(): void {
    this.times = [];
  }
}
