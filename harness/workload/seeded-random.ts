/** Seeded pseudo-random numbers (sfc32): the only source of chance in workloads, in schedules of the nemesis and in tests of checkers, so that a seed replays them exactly. */

export class Random {
  private a: number;
  private b: number;
  private c: number;
  private counter: number;

  constructor(seed: number) {
    this.a = 0x9e3779b9 ^ seed;
    this.b = 0x243f6a88 ^ Math.imul(seed, 0x85ebca6b);
    this.c = 0xb7e15162 ^ Math.floor(seed / 0x1_0000_0000);
    this.counter = 1;
    for (let warmUp = 0; warmUp < 16; warmUp += 1) this.unit();
  }

  /** In [0, 1). */
  unit(): number {
    const sum = (((this.a + this.b) | 0) + this.counter) | 0;
    this.counter = (this.counter + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 0x1_0000_0000;
  }

  chance(probability: number): boolean {
    return probability > 0 && this.unit() < probability;
  }

  /** A whole number in [0, below). */
  below(below: number): number {
    return Math.floor(this.unit() * below);
  }

  between(low: number, high: number): number {
    return low + this.unit() * (high - low);
  }

  /** Exponentially distributed: most are short, a few are long. */
  exponential(mean: number): number {
    return -Math.log(1 - this.unit()) * mean;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const shuffled = [...items];
    for (let index = shuffled.length - 1; index > 0; index -= 1) {
      const other = this.below(index + 1);
      [shuffled[index], shuffled[other]] = [shuffled[other]!, shuffled[index]!];
    }
    return shuffled;
  }
}
