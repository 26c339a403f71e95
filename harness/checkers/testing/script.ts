/** Histories written by hand: a line is what a process does over some stretch of time, given as first and last moment. */
import { pairCalls, type Call, type Operation, type OperationType } from '../history.ts';
import type { ReadMode, ReadTerms } from '../read-terms.ts';

export interface ScriptedCall {
  readonly f: string;
  readonly from: number;
  readonly to: number;
  readonly asked: unknown;
  readonly answer?: unknown;
  readonly outcome?: Exclude<OperationType, 'invoke'>;
  readonly terms?: ReadTerms;
}

/** Of a read at a follower, unless it is said to be at the leader. What is bounded may be 10 ms old, which is 10,000 moments. */
export function inMode(
  mode: ReadMode,
  { session = 1, by = 'follower' }: { readonly session?: number; readonly by?: ReadTerms['by'] } = {},
): { readonly terms: ReadTerms } {
  return { terms: { mode, stalenessMaxMs: mode === 'bounded' ? 10 : null, replica: 'r2', by, session } };
}

/** Each call is a process of its own. Moments are compared; among equal ones, ends come last. */
export function operationsOf(script: readonly ScriptedCall[]): readonly Operation[] {
  return script
    .flatMap(({ f, from, to, asked, answer, outcome, terms }, process) => {
      const type = outcome ?? 'ok';
      const begun = { process, type: 'invoke' as const, f, value: asked, timeUs: from };
      return [
        { at: from * 2, operation: terms === undefined ? begun : { ...begun, terms } },
        { at: to * 2 + 1, operation: { process, type, f, value: answer ?? asked, timeUs: to } },
      ];
    })
    .sort((a, b) => a.at - b.at)
    .map(({ operation }) => operation);
}

export function callsOf(script: readonly ScriptedCall[]): readonly Call[] {
  return pairCalls(operationsOf(script));
}

/** Every order of the items. */
export function* permutations<T>(items: readonly T[]): Generator<readonly T[]> {
  if (items.length === 0) yield [];
  for (const [index, item] of items.entries()) {
    for (const rest of permutations(items.toSpliced(index, 1))) yield [item, ...rest];
  }
}

export function* subsets<T>(items: readonly T[]): Generator<readonly T[]> {
  const [first, ...rest] = items;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const subset of subsets(rest)) {
    yield subset;
    yield [first, ...subset];
  }
}

/** True if no call stands before one that had ended when it had to be current. */
export function respectsRealTime(order: readonly Call[]): boolean {
  return order.every((call, index) => order.slice(index + 1).every((later) => later.end >= call.currentAt));
}
