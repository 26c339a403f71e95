/**
 * Which actions lead to a next state: the definitions that were used on the way, each with its operands.
 *
 * Kept while the next states are gone through: what is behind an action is no part of it.
 */
import type { Definition } from './syntax.ts';
import type { Value } from './value.ts';

export interface Use {
  readonly definition: Definition;
  readonly operands: readonly Value[];
}

interface Entry extends Use {
  /** How many uses it lies in. */
  readonly depth: number;
}

export interface Trail {
  readonly entries: Entry[];
  depth: number;
}

export const newTrail = (): Trail => ({ entries: [], depth: 0 });

/** Goes through `act` as a part of this use; what comes behind it, `go`, is none. */
export function following(trail: Trail, use: Use, go: () => void, act: (then: () => void) => void): void {
  const { depth } = trail;
  trail.entries.push({ ...use, depth });
  trail.depth = depth + 1;
  act(() => {
    const inner = trail.depth;
    trail.depth = depth;
    go();
    trail.depth = inner;
  });
  trail.depth = depth;
  trail.entries.pop();
}

/** The outermost use that is an action of its own, and no choice among several; null: the step has no name. */
export function actionOf({ entries }: Trail, isChoice: (definition: Definition) => boolean): Use | null {
  let depth = 0;
  let last: Use | null = null;
  for (const entry of entries) {
    if (entry.depth !== depth) continue;
    last = entry;
    if (!isChoice(entry.definition)) return entry;
    depth++;
  }
  return last;
}
