/**
 * Whether a search with a regular expression costs no more than a number of steps for each character of the text, whatever the text is.
 *
 * V8 tries one way after another. That costs more than linear work if, and only if, one text leads around a loop of the automaton, from there to another loop, and around that one, too (Weideman et al., CIAA 2016): then
 * the ways to the second loop grow with the text. A search that begins at every place is such a first loop. What comes behind must be able to fail: where the second loop may end the expression, it ends.
 * Errs on the side of "not linear". Takes the asymptotic cost, and bounds repetitions (`boundMax`).
 */
import { type Automaton, automatonOf, type State } from './automaton.ts';

/** Null: it is linear. Otherwise why it is not known to be. */
export function superLinear(expression: RegExp): string | null {
  try {
    const loops = ambiguity(automatonOf(expression, { boundedAreLoops: false }), true);
    return loops ?? ambiguity(automatonOf(expression, { boundedAreLoops: true }), false);
  } catch (error) {
    return (error as Error).message;
  }
}

/** `fromAnywhere`: the search counts as a loop. */
function ambiguity({ states, first }: Automaton, fromAnywhere: boolean): string | null {
  const search: State = { takes: -1n, next: [states.length, ...first], isEnd: false };
  const all = fromAnywhere ? [...states, search] : states;
  const reached = all.map((_, from) => reachableFrom(all, from));
  const isLooping = (at: number): boolean => reached[at]!.has(at);
  const inLoopOf = all.map((_, at) => new Set([...reached[at]!].filter((other) => reached[other]!.has(at))));
  for (const [at, { next }] of all.entries()) {
    const within = next.filter((to) => inLoopOf[at]!.has(to));
    if (new Set(within).size < within.length) return 'a loop has two ways around: exponential';
  }
  for (const p of all.keys()) {
    if (!isLooping(p)) continue;
    for (const q of all.keys()) {
      if (q === p || !isLooping(q) || all[q]!.isEnd || !reached[p]!.has(q)) continue;
      if (leadsToBoth(all, { p, q, reached, inLoopOf }))
        return p === states.length
          ? 'from every place it may run far: quadratic'
          : 'two loops take the same: quadratic';
    }
  }
  return null;
}

function reachableFrom(states: readonly State[], from: number): Set<number> {
  const reached = new Set<number>();
  const open = [from];
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const to of states[at]!.next)
      if (!reached.has(to)) {
        reached.add(to);
        open.push(to);
      }
  return reached;
}

interface Loops {
  readonly p: number;
  readonly q: number;
  readonly reached: readonly ReadonlySet<number>[];
  readonly inLoopOf: readonly ReadonlySet<number>[];
}

/** Some text leads from p to p, from p to q, and from q to q. */
function leadsToBoth(states: readonly State[], { p, q, reached, inLoopOf }: Loops): boolean {
  const count = states.length;
  const key = (a: number, b: number, c: number): number => (a * count + b) * count + c;
  const goal = key(p, q, q);
  const start = [p, p, q] as const;
  const seen = new Set([key(...start)]);
  const open: (readonly [number, number, number])[] = [start];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const a of states[at[0]]!.next) {
      if (!inLoopOf[p]!.has(a)) continue;
      for (const c of states[at[2]]!.next) {
        const both = states[a]!.takes & states[c]!.takes;
        if (both === 0n || !inLoopOf[q]!.has(c)) continue;
        for (const b of states[at[1]]!.next) {
          if ((states[b]!.takes & both) === 0n || !(b === q || reached[b]!.has(q))) continue;
          const to = key(a, b, c);
          if (to === goal) return true;
          if (seen.has(to)) continue;
          seen.add(to);
          open.push([a, b, c]);
        }
      }
    }
  }
  return false;
}
