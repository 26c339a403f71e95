/**
 * When events happened, on the run's own clock, and the other way round: the two clocks have nothing in common, but each flush tells how far both were. Bounded: the oldest pairs go first.
 *
 * Invariant: neither direction goes back.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';

const pairsMax = 8_000;
/** Behind the last pair both clocks go alike, for so long. */
const aheadMsMax = 400;

interface Pair {
  readonly ms: number;
  readonly us: number;
}

export class EventClock {
  private pairs: Pair[] = [];

  /** What came at `ms` on the run's clock. */
  add(ms: number, events: readonly TraceEvent[]): void {
    if (events.length === 0) return;
    const last = this.pairs.at(-1);
    const us = events.reduce((latest, event) => Math.max(latest, event.atUs), last?.us ?? 0);
    if (last !== undefined && (ms <= last.ms || us <= last.us)) return;
    this.pairs.push({ ms, us });
    if (this.pairs.length > pairsMax * 1.1) this.pairs.splice(0, this.pairs.length - pairsMax);
  }

  /** Null: no event has come yet. */
  usAt(ms: number): number | null {
    return this.between('ms', 'us', 1_000, ms);
  }

  msAt(us: number): number | null {
    return this.between('us', 'ms', 1 / 1_000, us);
  }

  private between(from: keyof Pair, to: keyof Pair, rate: number, value: number): number | null {
    const first = this.pairs[0];
    const last = this.pairs.at(-1);
    if (first === undefined || last === undefined) return null;
    if (value <= first[from]) return first[to] + (value - first[from]) * rate;
    if (value >= last[from]) {
      const most = from === 'ms' ? aheadMsMax : aheadMsMax * 1_000;
      return last[to] + Math.min(value - last[from], most) * rate;
    }
    let low = 0;
    let high = this.pairs.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (this.pairs[middle]![from] <= value) low = middle;
      else high = middle;
    }
    const [before, behind] = [this.pairs[low]!, this.pairs[high]!];
    const share = (value - before[from]) / (behind[from] - before[from]);
    return before[to] + share * (behind[to] - before[to]);
  }
}
