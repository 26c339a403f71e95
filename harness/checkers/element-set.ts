/**
 * A set that only grows: what was acknowledged before a read began is in it, once; what failed or was never sent is not, ever. Pure.
 */
import { describeCall, type Anomaly, type Verdict } from './anomaly.ts';
import type { Call } from './history.ts';

/** Operations: `add` (asked: the element), `read` (answer: all elements) and a last `read` after everything. */
export function checkElementSet(calls: readonly Call[]): Verdict {
  const adds = new Map<number, Call>();
  for (const call of calls) if (call.f === 'add') adds.set(call.asked as number, call);
  const reads = calls.filter(({ f, outcome }) => f === 'read' && outcome === 'ok');
  const anomalies = reads.flatMap((read) => checkRead(read, adds));
  const lastAdd = Math.max(0, ...[...adds.values()].map(({ begin }) => begin));
  const hasEnd = reads.some(({ begin }) => begin > lastAdd);
  return { anomalies, gaveUp: hasEnd ? null : 'the final read of the set is missing' };
}

function checkRead(read: Call, adds: ReadonlyMap<number, Call>): Anomaly[] {
  const found: Anomaly[] = [];
  const present = new Set<number>();
  const add = (kind: string, summary: string, call: Call | undefined): void => {
    const detail = call === undefined ? [] : [describeCall(call)];
    detail.push(`read by process ${read.process} from ${(read.beginUs / 1e6).toFixed(3)} s on`);
    found.push({ kind, summary, detail });
  };
  for (const element of read.answer as readonly number[]) {
    const call = adds.get(element);
    if (present.has(element)) add('doubled-element', `element ${element} is there twice`, call);
    present.add(element);
    if (call === undefined) add('unasked-element', `element ${element} was never added`, call);
    else if (call.outcome === 'fail')
      add('failed-element', `element ${element} was told that it failed, and is there`, call);
    else if (call.begin > read.end)
      add('future-element', `element ${element} was read before it was added`, call);
  }
  for (const [element, call] of adds) {
    if (call.outcome === 'ok' && call.end < read.begin && !present.has(element))
      add('lost-element', `element ${element} was acknowledged and is missing`, call);
  }
  return found;
}
