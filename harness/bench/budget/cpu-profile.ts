/**
 * What V8's sampling profiler says of a process: how the time in which it did something divides into stages, and into stacks.
 *
 * Pure. The profiler samples by the clock: a thread that waits for a processor counts like one that has it, so only shares mean anything; idle time is left out.
 */
import { stageOfFrame, type Stage } from './stages.ts';

/** As V8 writes it to a .cpuprofile. Times in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A function and what it called, itself and its callees together. */
export interface Frame {
  readonly name: string;
  readonly stage: Stage;
  us: number;
  readonly callees: Map<string, Frame>;
}

export interface ProfileSummary {
  /** In which it did something. */
  readonly busyUs: number;
  /** Each is a part of `busyUs`. */
  readonly stagesUs: ReadonlyMap<Stage, number>;
  readonly root: Frame;
}

interface Place {
  readonly name: string;
  readonly stage: Stage;
  readonly parent: number | null;
}

export function summarize(profile: CpuProfile): ProfileSummary {
  const places = placesOf(profile);
  const stagesUs = new Map<Stage, number>();
  const root: Frame = { name: 'all', stage: 'system', us: 0, callees: new Map() };
  for (const [index, id] of profile.samples.entries()) {
    const place = places.get(id);
    // What a sample stands for is the time until the next one.
    const us = profile.timeDeltas[index + 1] ?? 0;
    if (place === undefined || place.name === '(idle)' || us <= 0) continue;
    stagesUs.set(place.stage, (stagesUs.get(place.stage) ?? 0) + us);
    addStack(root, stackOf(places, id), us);
  }
  return { busyUs: root.us, stagesUs, root };
}

/** Frames that are not ours belong to the stage of whoever called them; without a caller of ours to Node.js itself. */
function placesOf({ nodes }: CpuProfile): ReadonlyMap<number, Place> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const places = new Map<number, Place>();
  const [first] = nodes;
  const waiting = first === undefined ? [] : [{ id: first.id, parent: null as number | null }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { id, parent } = next;
    const node = byId.get(id);
    if (node === undefined) continue;
    const { functionName, url } = node.callFrame;
    const inherited = parent === null ? undefined : places.get(parent)?.stage;
    places.set(id, {
      name: functionName === '' ? '(anonymous)' : functionName,
      stage: stageOfFrame(url, functionName) ?? inherited ?? 'system',
      parent,
    });
    for (const child of node.children ?? []) waiting.push({ id: child, parent: id });
  }
  return places;
}

/** From the outermost to the innermost, without V8's own root. */
function stackOf(places: ReadonlyMap<number, Place>, leaf: number): readonly Place[] {
  const stack: Place[] = [];
  for (let id: number | null = leaf; id !== null; ) {
    const place = places.get(id);
    if (place === undefined) break;
    if (place.parent !== null) stack.push(place);
    id = place.parent;
  }
  return stack.toReversed();
}

function addStack(root: Frame, stack: readonly Place[], us: number): void {
  root.us += us;
  let frame = root;
  for (const { name, stage } of stack) {
    const key = `${stage} ${name}`;
    let callee = frame.callees.get(key);
    if (callee === undefined) {
      callee = { name, stage, us: 0, callees: new Map() };
      frame.callees.set(key, callee);
    }
    callee.us += us;
    frame = callee;
  }
}
