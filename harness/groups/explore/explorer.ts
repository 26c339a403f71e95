/**
 * Prefers runs that come through what few runs have come through: goes on from there in another way, as soon as that brings more than new seeds do.
 *
 * Responsible for: which input is tried next, and which are worth keeping. Runs nothing itself. Pure but for `random`.
 */
import type { Random } from '../../../server/src/ports/testing/random.ts';
import { inputOf, type Input, type Run } from './run-input.ts';

/** Where a pair was met first: the run, and when in it. */
interface Place {
  readonly input: Input;
  readonly atMs: number;
}

/** So many of the pairs are taken for rare, of those that the fewest runs have met. */
const rareShare = 0.05;
/** Chance turns a little before or behind the place, so that the action itself comes about otherwise, too. */
const aroundMs = 300;
/** So often the kind of run is tried that brings less at the time: new seeds, or turns of what is known. */
const otherChance = 0.1;
/** How much of what a kind brings is what the last run of it brought. */
const lastShare = 0.1;
/** More turns than that are no more than other seeds. */
const turnsMax = 6;

export class Explorer {
  private readonly random: Random;
  private readonly places = new Map<string, Place>();
  private readonly runsWith = new Map<string, number>();
  /** New pairs for a run, of late. */
  private readonly brings = { seed: Number.POSITIVE_INFINITY, turn: Number.POSITIVE_INFINITY };
  private nextSeed: number;

  constructor(firstSeed: number, random: Random) {
    this.nextSeed = firstSeed;
    this.random = random;
  }

  /** Pairs that were met. */
  get met(): number {
    return this.places.size;
  }

  next(): Input {
    const { random, brings } = this;
    const isSeed = brings.seed >= brings.turn !== random.chance(otherChance);
    if (this.places.size === 0 || isSeed) return this.another();
    const { input, atMs } = this.rarePlace();
    const turnMs = Math.max(1, Math.round(atMs + (random.next() - 0.5) * 2 * aroundMs));
    const before = input.turns.filter((turn) => turn.atMs < turnMs);
    if (before.length >= turnsMax) return this.another();
    return { ...input, turns: [...before, { atMs: turnMs, salt: random.below(2 ** 31) }] };
  }

  /** How many pairs nobody had met before. */
  take({ input, pairs }: Run): number {
    let found = 0;
    for (const [pair, atMs] of pairs) {
      this.runsWith.set(pair, (this.runsWith.get(pair) ?? 0) + 1);
      if (this.places.has(pair)) continue;
      this.places.set(pair, { input, atMs });
      found += 1;
    }
    const kind = input.turns.length === 0 ? 'seed' : 'turn';
    const before = this.brings[kind];
    this.brings[kind] = before === Number.POSITIVE_INFINITY ? found : before + (found - before) * lastShare;
    return found;
  }

  private another(): Input {
    return inputOf(this.nextSeed++);
  }

  private rarePlace(): Place {
    const byRuns = [...this.runsWith].toSorted(([, one], [, other]) => one - other);
    const rare = byRuns.slice(0, Math.max(1, Math.floor(byRuns.length * rareShare)));
    return this.places.get(this.random.pick(rare)[0])!;
  }
}

/** Those that come through most together, the best first, `max` at most. */
export function bestOf(runs: readonly Run[], max: number): Run[] {
  const met = new Set<string>();
  const best: Run[] = [];
  const left = new Set(runs);
  const gain = ({ pairs }: Run): number => [...pairs.keys()].filter((pair) => !met.has(pair)).length;
  while (best.length < max && left.size > 0) {
    const [run, gained] = [...left]
      .map((one) => [one, gain(one)] as const)
      .reduce((one, other) => (other[1] > one[1] ? other : one));
    if (gained === 0) break;
    best.push(run);
    left.delete(run);
    for (const pair of run.pairs.keys()) met.add(pair);
  }
  return best;
}
