/**
 * The automaton of a regular expression: its states are the places of the expression that take a character, and an edge leads to each place that may take the next one.
 *
 * It may do more than the expression: conditions (word boundaries, ends, what a look-around asks) always hold, and what a look-ahead tries is one more branch, which accepts nothing.
 * So what is not ambiguous here is not ambiguous there.
 */
import { parseExpression, type Tree } from './parse.ts';

export interface State {
  /** The classes of characters that it takes, a bit for each. */
  readonly takes: bigint;
  /** States that may take the next character, each as often as there are ways. */
  readonly next: readonly number[];
  /** The expression may end here, and nothing is asked of what follows. */
  readonly isEnd: boolean;
}

export interface Automaton {
  readonly states: readonly State[];
  /** Those that may take the first character, at whatever place of the text a search begins. */
  readonly first: readonly number[];
}

/** Repetitions up to this number are told apart. */
const copiesMax = 8;
/** A bounded repetition costs so much for each character at most. */
export const boundMax = 256;

export interface AutomatonOptions {
  /** Longer bounded repetitions are taken for loops. */
  readonly boundedAreLoops: boolean;
}

type Node = {
  readonly edges: { readonly to: number; readonly condition: 'none' | 'start' | 'other' }[];
  /** The character that leads to `to`, instead of edges. */
  takes: { readonly raw: string; readonly to: number } | null;
};

/** Beside all of Latin-1: what ignoring the case may equate, and what stands for all other characters. */
const alphabet = [...Array.from({ length: 256 }, (_, code) => code), 0x17f, 0x212a, 0x2028, 0x4e2d];

export function automatonOf({ source, flags }: RegExp, options: AutomatonOptions): Automaton {
  const nodes: Node[] = [];
  const node = (): number => nodes.push({ edges: [], takes: null }) - 1;
  const link = (from: number, to: number, condition: 'none' | 'start' | 'other' = 'none'): void => {
    nodes[from]!.edges.push({ to, condition });
  };

  /** Adds what a tree does behind `from`; where it ends. */
  const add = (tree: Tree, from: number): number => {
    switch (tree.kind) {
      case 'character': {
        const to = node();
        nodes[from]!.takes = { raw: tree.raw, to };
        return to;
      }
      case 'sequence':
        return tree.parts.reduce((at, part) => add(part, step(at)), from);
      case 'choice': {
        const end = node();
        for (const part of tree.parts) link(add(part, step(from)), end);
        return end;
      }
      case 'assertion': {
        const to = node();
        link(from, to, tree.of);
        return to;
      }
      case 'look':
        if (tree.behind) {
          if (longest(tree.part) > boundMax) throw new Error(`a look-behind is not bounded: ${source}`);
        } else add(tree.part, step(from));
        return add({ kind: 'assertion', of: 'other' }, step(from));
      case 'repeat':
        return addRepeat(tree, from);
      default:
        return tree satisfies never;
    }
  };

  const step = (from: number): number => {
    const to = node();
    link(from, to);
    return to;
  };

  const addRepeat = (tree: Extract<Tree, { kind: 'repeat' }>, from: number): number => {
    const { part, min, max } = tree;
    const isLong = max !== Infinity && max > copiesMax;
    if (isLong && max > boundMax)
      throw new Error(`a repetition is bounded by ${max}, above ${boundMax}: ${source}`);
    const isLoop = max === Infinity || (isLong && options.boundedAreLoops);
    if (max === Infinity && isNullable(part) && hasLoop(part))
      throw new Error(`a loop is around a loop that may take nothing: exponential: ${source}`);
    const must = isLong || min > copiesMax ? Math.min(min, 1) : min;
    let at = from;
    for (let copy = 0; copy < must; copy += 1) at = add(part, step(at));
    const end = node();
    if (isLoop) {
      const loop = step(at);
      link(loop, end);
      link(add(part, step(loop)), loop);
      return end;
    }
    const may = isLong ? 2 - must : max - min;
    for (let copy = 0; copy < may; copy += 1) {
      link(at, end);
      at = add(part, step(at));
    }
    link(at, end);
    return end;
  };

  const begin = node();
  const accept = add(parseExpression(source, flags), begin);
  return withoutEmptySteps(nodes, { begin, accept }, flags);
}

/** It may take nothing. */
function isNullable(tree: Tree): boolean {
  switch (tree.kind) {
    case 'character':
      return false;
    case 'sequence':
      return tree.parts.every(isNullable);
    case 'choice':
      return tree.parts.some(isNullable);
    case 'repeat':
      return tree.min === 0 || isNullable(tree.part);
    case 'assertion':
    case 'look':
      return true;
    default:
      return tree satisfies never;
  }
}

function hasLoop(tree: Tree): boolean {
  if (tree.kind === 'repeat') return tree.max === Infinity || hasLoop(tree.part);
  if (tree.kind === 'look') return hasLoop(tree.part);
  return (tree.kind === 'sequence' || tree.kind === 'choice') && tree.parts.some(hasLoop);
}

/** Characters that a tree takes at most. */
function longest(tree: Tree): number {
  switch (tree.kind) {
    case 'character':
      return 1;
    case 'sequence':
      return tree.parts.reduce((sum, part) => sum + longest(part), 0);
    case 'choice':
      return Math.max(...tree.parts.map(longest));
    case 'repeat':
      return tree.max * longest(tree.part);
    case 'assertion':
    case 'look':
      return 0;
    default:
      return tree satisfies never;
  }
}

function withoutEmptySteps(
  nodes: readonly Node[],
  { begin, accept }: { readonly begin: number; readonly accept: number },
  flags: string,
): Automaton {
  const taking = nodes.flatMap(({ takes }, at) => (takes === null ? [] : [at]));
  const indexOf = new Map(taking.map((at, index) => [at, index]));
  const masks = classesOf(
    taking.map((at) => nodes[at]!.takes!.raw),
    flags,
  );

  /** All ways from a node to one that takes a character, or to the end. */
  const reach = (
    from: number,
  ): { readonly next: number[]; readonly isEnd: boolean; readonly anywhere: number[] } => {
    const next: number[] = [];
    const anywhere: number[] = [];
    let isEnd = false;
    const onWay = new Set<number>();
    const go = (at: number, isStart: boolean, isAsked: boolean): void => {
      if (onWay.has(at)) return;
      onWay.add(at);
      const index = indexOf.get(at);
      if (index !== undefined) {
        next.push(index);
        if (!isStart) anywhere.push(index);
      }
      if (at === accept && !isAsked) isEnd = true;
      for (const { to, condition } of nodes[at]!.edges)
        go(to, isStart || condition === 'start', isAsked || condition !== 'none');
      onWay.delete(at);
    };
    go(from, false, false);
    return { next, isEnd, anywhere };
  };

  const states = taking.map((at, index): State => {
    const { anywhere, isEnd } = reach(nodes[at]!.takes!.to);
    return { takes: masks[index]!, next: anywhere, isEnd };
  });
  return { states, first: reach(begin).anywhere };
}

/** Characters that all the same places take are one class. */
function classesOf(raws: readonly string[], flags: string): readonly bigint[] {
  const tests = raws.map((raw) => takenBy(raw, flags));
  const classes = new Map<string, bigint>();
  const masks = raws.map(() => 0n);
  for (const [at] of alphabet.entries()) {
    const signature = tests.map((test) => (test[at] === true ? '1' : '0')).join('');
    if (!classes.has(signature)) classes.set(signature, 1n << BigInt(classes.size));
    for (const [place, test] of tests.entries())
      if (test[at] === true) masks[place]! |= classes.get(signature)!;
  }
  return masks;
}

const known = new Map<string, readonly boolean[]>();

function takenBy(raw: string, flags: string): readonly boolean[] {
  const key = `${flags} ${raw}`;
  let taken = known.get(key);
  if (taken === undefined) {
    const one = new RegExp(`^${raw}$`, flags.replaceAll(/[gymd]/g, ''));
    taken = alphabet.map((code) => one.test(String.fromCodePoint(code)));
    known.set(key, taken);
  }
  return taken;
}
