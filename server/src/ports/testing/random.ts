/** Random numbers from a seed: the same ones at each run. */
export class Random {
  private state: number;
  private readonly forks: Random[] = [];

  constructor(seed: number) {
    // Seeds that are near to each other must not begin alike.
    this.state = Math.imul(seed ^ 0x5bd1_e995, 0x9e37_79b1) >>> 0;
  }

  /** From 0 up to 1, which it never is. */
  next(): number {
    this.state = (this.state + 0x6d2b_79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** From 0 up to `below`, which it never is; whole. */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** Whole, both ends among them. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error('there is nothing to pick from');
    return items[this.below(items.length)]!;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items];
    const shuffled: T[] = [];
    while (left.length > 0) shuffled.push(...left.splice(this.below(left.length), 1));
    return shuffled;
  }

  /** A source of its own: what is drawn from it changes nothing here. */
  fork(): Random {
    const fork = new Random(Math.floor(this.next() * 2 ** 32));
    this.forks.push(fork);
    return fork;
  }

  /** What is drawn from now on, here and from all forks, is other than it would have been, and the same for the same `salt`. */
  turn(salt: number): void {
    this.state = (this.state ^ Math.imul(salt ^ 0x2545_f491, 0x9e37_79b1)) >>> 0;
    for (const fork of this.forks) fork.turn(salt);
  }
}
