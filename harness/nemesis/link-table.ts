/**
 * Which links are broken by which faults that overlap: ending one fault leaves the others' breakage in place.
 *
 * Pure but for `apply`, which the owner calls to carry differences to the cluster.
 */
import type { FaultRequest } from '../../server/src/api/status.ts';

export type LinkAction = 'cut' | 'delay' | 'drop' | 'duplicate';

export interface LinkBreak {
  readonly from: string;
  readonly to: string;
  readonly action: LinkAction;
  /** Milliseconds, a probability, or 1 for a cut. */
  readonly amount: number;
}

type LinkRequest = Extract<FaultRequest, { readonly from: string }>;

export class LinkTable {
  private readonly active = new Map<number, readonly LinkBreak[]>();
  private carried = new Map<string, LinkBreak>();

  /** What must be told to the cluster so that these breaks are in force as well. */
  add(fault: number, breaks: readonly LinkBreak[]): readonly LinkRequest[] {
    this.active.set(fault, breaks);
    return this.differences();
  }

  remove(fault: number): readonly LinkRequest[] {
    this.active.delete(fault);
    return this.differences();
  }

  private differences(): readonly LinkRequest[] {
    const wanted = new Map<string, LinkBreak>();
    for (const each of [...this.active.values()].flat()) {
      const key = `${each.from} ${each.to} ${each.action}`;
      if ((wanted.get(key)?.amount ?? 0) < each.amount) wanted.set(key, each);
    }
    const requests: LinkRequest[] = [];
    for (const [key, each] of wanted)
      if (this.carried.get(key)?.amount !== each.amount) requests.push(requestOf(each, each.amount));
    for (const [key, each] of this.carried) if (!wanted.has(key)) requests.push(requestOf(each, 0));
    this.carried = wanted;
    return requests;
  }
}

function requestOf({ from, to, action }: LinkBreak, amount: number): LinkRequest {
  return { action, from, to, amount } as LinkRequest;
}

/** Both directions of every link between the two sides. */
export function betweenSides(left: readonly string[], right: readonly string[]): readonly LinkBreak[] {
  return left.flatMap((a) => right.flatMap((b) => [cutOf(a, b), cutOf(b, a)]));
}

/** Each replica hears a majority, itself included, and no two the same one: all stand in a circle and hear only their neighbours. */
export function majorityRing(ids: readonly string[]): readonly LinkBreak[] {
  const breaks: LinkBreak[] = [];
  for (const [i, from] of ids.entries()) {
    for (const [j, to] of ids.entries()) {
      const steps = (j - i + ids.length) % ids.length;
      // Of three everyone is a neighbour, so there each is heard only by the next.
      const isHeard = ids.length === 3 ? steps === 1 : Math.min(steps, ids.length - steps) <= ids.length / 4;
      if (i !== j && !isHeard) breaks.push(cutOf(from, to));
    }
  }
  return breaks;
}

export function cutOf(from: string, to: string): LinkBreak {
  return { from, to, action: 'cut', amount: 1 };
}
