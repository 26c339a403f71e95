/** The mixes of faults that traces are drawn from, by name: what is laid over the options that a seed draws. */
import { losses, type SimulationOptions } from './options.ts';

export const mixes = {
  /** Whatever the seed draws. */
  default: {},
  /** Disks are lost again and again, members come and go. */
  losses,
} as const satisfies Record<string, Partial<SimulationOptions>>;

export type MixName = keyof typeof mixes;

export function isMix(name: string): name is MixName {
  return Object.hasOwn(mixes, name);
}
