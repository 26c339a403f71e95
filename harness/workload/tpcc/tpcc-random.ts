/**
 * Values as clause 4.3.2 and 2.1.6 of TPC-C draw them: strings, last names, and numbers of which some are drawn much more often (NURand). From a seed.
 */
import type { Random } from '../seeded-random.ts';

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const digits = '0123456789';
const syllables = ['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'];
export const lastNames = 1000;
const nurandOf = { lastName: 255, customer: 1023, item: 8191 } as const;

/** `number`: below 1000. */
export function lastName(number: number): string {
  return [Math.floor(number / 100), Math.floor(number / 10) % 10, number % 10]
    .map((digit) => syllables[digit]!)
    .join('');
}

/** What NURand adds, for one run of terminals, or for a load. */
export type NurandConstants = Readonly<Record<keyof typeof nurandOf, number>>;

export function loadConstants(random: Random): NurandConstants {
  const of = (name: keyof typeof nurandOf): number => random.below(nurandOf[name] + 1);
  return { lastName: of('lastName'), customer: of('customer'), item: of('item') };
}

/** Clause 2.1.6.1: the constant of last names differs from that of the load by 65 to 119, but not by 96 or 112. */
export function runConstants(random: Random, loaded: NurandConstants): NurandConstants {
  const fits = (candidate: number): boolean => {
    const delta = Math.abs(candidate - loaded.lastName);
    return delta >= 65 && delta <= 119 && delta !== 96 && delta !== 112;
  };
  const candidates = Array.from({ length: nurandOf.lastName + 1 }, (_, value) => value).filter(fits);
  return { ...loadConstants(random), lastName: random.pick(candidates) };
}

export class TpccRandom {
  private readonly random: Random;
  private readonly constants: NurandConstants;

  constructor(random: Random, constants: NurandConstants) {
    this.random = random;
    this.constants = constants;
  }

  /** Whole, both ends among them. */
  whole(least: number, most: number): number {
    return least + this.random.below(most - least + 1);
  }

  /** With two decimals, as text. */
  amount(least: number, most: number): string {
    return (this.whole(Math.round(least * 100), Math.round(most * 100)) / 100).toFixed(2);
  }

  /** With four decimals, as text. */
  fraction(most: number): string {
    return (this.whole(0, Math.round(most * 10_000)) / 10_000).toFixed(4);
  }

  chance(probability: number): boolean {
    return this.random.chance(probability);
  }

  shuffled<T>(items: readonly T[]): T[] {
    return this.random.shuffled(items);
  }

  /** Letters and digits. */
  text(least: number, most = least): string {
    return this.drawn(letters, this.whole(least, most));
  }

  zip(): string {
    return `${this.drawn(digits, 4)}11111`;
  }

  digits(count: number): string {
    return this.drawn(digits, count);
  }

  private drawn(from: string, count: number): string {
    let text = '';
    for (let n = 0; n < count; n += 1) text += from[this.random.below(from.length)]!;
    return text;
  }

  /** One in ten says that it is original, somewhere in the middle. */
  data(least: number, most: number): string {
    const text = this.text(least, most);
    if (!this.chance(0.1)) return text;
    const at = this.whole(0, text.length - 8);
    return `${text.slice(0, at)}ORIGINAL${text.slice(at + 8)}`;
  }

  customer(customers: number): number {
    return this.nurand('customer', 1, customers);
  }

  item(items: number): number {
    return this.nurand('item', 1, items);
  }

  /** Of those that the first customers of each district have. */
  lastName(customers: number): string {
    return lastName(this.nurand('lastName', 0, Math.min(customers, lastNames) - 1));
  }

  /** Clause 2.1.6. */
  private nurand(name: keyof typeof nurandOf, least: number, most: number): number {
    const mixed = this.whole(0, nurandOf[name]) | this.whole(least, most);
    return ((mixed + this.constants[name]) % (most - least + 1)) + least;
  }
}
