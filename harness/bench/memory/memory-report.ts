/** Whether memory stays flat, from what was seen of it. Pure. */
import { machineLines } from '../machine.ts';
import { quarterMedians } from '../summary.ts';
import type { Look, MemoryRun } from './memory.ts';

/** The last quarter may hold so much more than the second one. */
const flatShare = 1.1;

export interface MemoryFigures {
  /** Medians of quarters of the time, MiB. */
  readonly quarters: readonly number[];
  readonly mostMiB: number;
  readonly isFlat: boolean;
}

/** What a process takes as it warms up, in the first quarter, is not held against it. @throws RangeError if there are fewer than four looks */
export function figuresOf(looks: readonly Look[]): MemoryFigures {
  if (looks.length < 4) throw new RangeError('too few looks at the memory: let it run longer');
  const quarters = quarterMedians(looks.map(({ residentMiB }) => residentMiB));
  const [, second = 0, , last = 0] = quarters;
  const mostMiB = Math.max(...looks.map(({ residentMiB }) => residentMiB));
  return { quarters, mostMiB, isFlat: last <= second * flatShare };
}

export function memoryText({ machine, commit, options, transactions, looks }: MemoryRun): string {
  const rows = Object.entries(looks).map(([id, own], index) => {
    const { quarters, mostMiB, isFlat } = figuresOf(own);
    const cells = [...quarters, mostMiB].map((mib) => mib.toFixed(0).padStart(8));
    return `${(index === 0 ? `${id}, leader` : id).padEnd(14)}${cells.join('')}  ${isFlat ? 'flat' : 'GROWS'}`;
  });
  return [
    machineLines(machine),
    `commit      ${commit ?? 'unknown'}`,
    `load        UPDATE by key and TPC-B in turn, ${options.clients} clients, ${options.minutes} minutes: ${transactions} transactions`,
    '',
    `MiB of Node.js  in the four quarters of the time, and the most`,
    ...rows,
  ].join('\n');
}
