/**
 * Searches a graph of dependencies between transactions for cycles, and names them as Adya and Elle do. Pure.
 *
 * Edges: `ww` the second overwrote (appended to) what the first wrote; `wr` the second read what the first wrote; `rw` the first read a version that the second
 * replaced; `rt` the first had ended before the second began. In a strictly serializable history there is no cycle at all.
 */

export type EdgeKind = 'ww' | 'wr' | 'rw' | 'rt';

export interface Edge {
  readonly from: number;
  readonly to: number;
  readonly kind: EdgeKind;
  /** For people: the key and values, or the times. */
  readonly because: string;
}

export type CycleKind =
  | 'G0'
  | 'G1c'
  | 'G-single'
  | 'G2'
  | 'G0-realtime'
  | 'G1c-realtime'
  | 'G-single-realtime'
  | 'G2-realtime';

export interface Cycle {
  readonly kind: CycleKind;
  /** Each begins where the one before ends, and the first where the last ends. */
  readonly edges: readonly Edge[];
}

export class Graph {
  private readonly outgoing = new Map<number, Edge[]>();

  add(edge: Edge): void {
    if (edge.from === edge.to) return;
    const edges = this.outgoing.get(edge.from);
    if (edges === undefined) this.outgoing.set(edge.from, [edge]);
    else if (!edges.some(({ to, kind }) => to === edge.to && kind === edge.kind)) edges.push(edge);
  }

  from(node: number): readonly Edge[] {
    return this.outgoing.get(node) ?? [];
  }

  nodes(): readonly number[] {
    return [...this.outgoing.keys()];
  }
}

interface Pattern {
  readonly kind: CycleKind;
  /** The cycle has an edge of this kind... */
  readonly first: EdgeKind;
  /** ...after it only edges of these... */
  readonly rest: readonly EdgeKind[];
  /** ...of which one is of this kind. */
  readonly must: EdgeKind | null;
}

/** From the worst on: a group of transactions is given the first name that fits. */
const patterns: readonly Pattern[] = [
  { kind: 'G0', first: 'ww', rest: ['ww'], must: null },
  { kind: 'G1c', first: 'wr', rest: ['ww', 'wr'], must: null },
  { kind: 'G-single', first: 'rw', rest: ['ww', 'wr'], must: null },
  { kind: 'G2', first: 'rw', rest: ['ww', 'wr', 'rw'], must: 'rw' },
  { kind: 'G0-realtime', first: 'ww', rest: ['ww', 'rt'], must: 'rt' },
  { kind: 'G1c-realtime', first: 'wr', rest: ['ww', 'wr', 'rt'], must: 'rt' },
  { kind: 'G-single-realtime', first: 'rw', rest: ['ww', 'wr', 'rt'], must: 'rt' },
  { kind: 'G2-realtime', first: 'rw', rest: ['ww', 'wr', 'rw', 'rt'], must: 'rw' },
];

/** One cycle, the shortest of its kind, for each group of transactions that depend on each other in a circle. `among`: those that count; without it all. */
export function findCycles(graph: Graph, among?: readonly CycleKind[]): readonly Cycle[] {
  return components(graph).flatMap((component) => {
    const found = worstCycle(graph, new Set(component), among);
    if (found === null && among === undefined)
      throw new Error('a strongly connected component without a cycle');
    return found === null ? [] : [found];
  });
}

function worstCycle(
  graph: Graph,
  component: ReadonlySet<number>,
  among: readonly CycleKind[] | undefined,
): Cycle | null {
  for (const pattern of patterns) {
    if (among?.includes(pattern.kind) === false) continue;
    let best: readonly Edge[] | null = null;
    for (const node of component) {
      for (const edge of graph.from(node)) {
        if (edge.kind !== pattern.first || !component.has(edge.to)) continue;
        const rest = shortestPath(graph, component, edge, pattern);
        if (rest !== null && (best === null || rest.length + 1 < best.length)) best = [edge, ...rest];
      }
    }
    if (best !== null) return { kind: pattern.kind, edges: best };
  }
  return null;
}

interface Visit {
  readonly node: number;
  readonly hasMust: boolean;
  readonly edge: Edge | null;
  readonly previous: Visit | null;
}

/** From the end of `first` back to its beginning. */
function shortestPath(
  graph: Graph,
  component: ReadonlySet<number>,
  first: Edge,
  { rest, must }: Pattern,
): readonly Edge[] | null {
  const start: Visit = { node: first.to, hasMust: must === null, edge: null, previous: null };
  const seen = new Set([`${start.node}/${start.hasMust}`]);
  const queue = [start];
  for (let visit = queue.shift(); visit !== undefined; visit = queue.shift()) {
    for (const edge of graph.from(visit.node)) {
      if (!rest.includes(edge.kind) || !component.has(edge.to)) continue;
      const next = { node: edge.to, hasMust: visit.hasMust || edge.kind === must, edge, previous: visit };
      if (next.hasMust && next.node === first.from) return pathTo(next);
      const key = `${next.node}/${next.hasMust}`;
      if (seen.has(key)) continue;
      seen.add(key);
      queue.push(next);
    }
  }
  return null;
}

function pathTo(last: Visit): readonly Edge[] {
  const edges: Edge[] = [];
  for (let visit: Visit | null = last; visit?.edge; visit = visit.previous) edges.unshift(visit.edge);
  return edges;
}

/** Strongly connected components of two or more nodes (Tarjan's, without recursion: chains are as long as the history). */
export function components(graph: Graph): readonly (readonly number[])[] {
  const found: number[][] = [];
  const index = new Map<number, number>();
  const low = new Map<number, number>();
  const onStack = new Set<number>();
  const stack: number[] = [];
  const enter = (node: number): { node: number; next: number } => {
    index.set(node, index.size);
    low.set(node, index.get(node)!);
    stack.push(node);
    onStack.add(node);
    return { node, next: 0 };
  };
  const lower = (node: number, to: number): void => void low.set(node, Math.min(low.get(node)!, to));
  for (const root of graph.nodes()) {
    if (index.has(root)) continue;
    const frames = [enter(root)];
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      const edge = graph.from(frame.node)[frame.next++];
      if (edge !== undefined) {
        if (!index.has(edge.to)) frames.push(enter(edge.to));
        else if (onStack.has(edge.to)) lower(frame.node, index.get(edge.to)!);
        continue;
      }
      frames.pop();
      const parent = frames.at(-1);
      if (parent !== undefined) lower(parent.node, low.get(frame.node)!);
      if (low.get(frame.node) !== index.get(frame.node)) continue;
      const component = stack.splice(stack.lastIndexOf(frame.node));
      for (const node of component) onStack.delete(node);
      if (component.length > 1) found.push(component);
    }
  }
  return found;
}
