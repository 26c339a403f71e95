/**
 * A set that only grows: what was acknowledged before a read had to be current, or shown by another read, is in it, once; what failed or was never sent is not, ever; and a session is shown again what it was shown. Pure.
 *
 * What a read must have says `currentAt` of its call (history.ts); what reads at followers have shown binds those that read-terms.ts says.
 */
import { describeCall, type Anomaly, type Verdict } from './anomaly.ts';
import type { Call } from './history.ts';
import { bindsLeader, isAtFollower, type ReadRules, statedReadRules } from './read-terms.ts';

/** Of a read: elements above one and up to another. */
interface Window {
  readonly above: number;
  readonly upTo: number;
}

interface Element {
  readonly element: number;
  readonly add: Call;
  /** From where on who reads at the leader must be shown it, and who reads at a follower. */
  known: { leader: number; follower: number };
}

/** Operations: `add` (asked: the element), `read` (asked: a window, or null for all; answer: the elements) and a last `read` of all after everything. */
export function checkElementSet(calls: readonly Call[], rules: ReadRules = statedReadRules): Verdict {
  const adds = new Map<number, Element>();
  for (const call of calls) {
    if (call.f !== 'add') continue;
    const end = call.outcome === 'ok' ? call.end : Number.POSITIVE_INFINITY;
    adds.set(call.asked as number, {
      element: call.asked as number,
      add: call,
      known: { leader: end, follower: end },
    });
  }
  const reads = calls.filter(({ f, outcome }) => f === 'read' && outcome === 'ok');
  for (const read of reads) show(read, adds, rules);
  const inOrder = [...adds.values()].sort((a, b) => a.element - b.element);
  const anomalies = [...reads.flatMap((read) => checkRead(read, adds, inOrder)), ...checkSessions(reads)];
  const lastAdd = Math.max(0, ...inOrder.map(({ add }) => add.begin));
  const hasEnd = reads.some(({ begin, terms }) => terms === null && begin > lastAdd);
  return { anomalies, gaveUp: hasEnd ? null : 'the final read of the set is missing' };
}

function elementsOf({ answer }: Call): readonly number[] {
  return answer as readonly number[];
}

function show(read: Call, adds: ReadonlyMap<number, Element>, rules: ReadRules): void {
  for (const element of elementsOf(read)) {
    const known = adds.get(element)?.known;
    if (known === undefined) continue;
    known.follower = Math.min(known.follower, read.end);
    if (bindsLeader(read, rules)) known.leader = Math.min(known.leader, read.end);
  }
}

function checkRead(
  read: Call,
  adds: ReadonlyMap<number, Element>,
  inOrder: readonly Element[],
): readonly Anomaly[] {
  const found: Anomaly[] = [];
  const present = new Set<number>();
  const tell = (kind: string, summary: string, call: Call | undefined): void => {
    const detail = call === undefined ? [] : [describeCall(call)];
    detail.push(describeRead(read));
    found.push({ kind, summary, detail });
  };
  for (const element of elementsOf(read)) {
    const call = adds.get(element)?.add;
    if (present.has(element)) tell('doubled-element', `element ${element} is there twice`, call);
    present.add(element);
    if (call === undefined) tell('unasked-element', `element ${element} was never added`, call);
    else if (call.outcome === 'fail')
      tell('failed-element', `element ${element} was told that it failed, and is there`, call);
    else if (call.begin > read.end)
      tell('future-element', `element ${element} was read before it was added`, call);
  }
  const where = isAtFollower(read) ? 'follower' : 'leader';
  for (const { element, add, known } of within(inOrder, read.asked as Window | null)) {
    if (present.has(element) || known[where] >= read.currentAt) continue;
    const how = add.outcome === 'ok' && add.end < read.currentAt ? 'acknowledged' : 'shown to somebody';
    const kind = read.terms === null ? 'lost-element' : 'stale-read';
    tell(kind, `element ${element} was ${how} and is missing`, add);
  }
  return found;
}

function within(inOrder: readonly Element[], window: Window | null): readonly Element[] {
  if (window === null) return inOrder;
  return inOrder.slice(placeAbove(inOrder, window.above), placeAbove(inOrder, window.upTo));
}

/** Where those begin that are greater. */
function placeAbove(inOrder: readonly Element[], element: number): number {
  let [low, high] = [0, inOrder.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (inOrder[middle]!.element <= element) low = middle + 1;
    else high = middle;
  }
  return low;
}

function checkSessions(reads: readonly Call[]): readonly Anomaly[] {
  const sessions = new Map<number, Set<number>>();
  return reads.flatMap((read) => {
    if (read.terms === null) return [];
    const shown = sessions.get(read.terms.session) ?? new Set();
    sessions.set(read.terms.session, shown);
    const present = new Set(elementsOf(read));
    const window = read.asked as Window | null;
    const gone = [...shown].find(
      (element) =>
        !present.has(element) && (window === null || (element > window.above && element <= window.upTo)),
    );
    for (const element of present) shown.add(element);
    const summary = `element ${gone} was shown to a session, and later in that session is missing`;
    return gone === undefined ? [] : [{ kind: 'session-went-back', summary, detail: [describeRead(read)] }];
  });
}

/** Without the elements, which may be many. */
function describeRead(read: Call): string {
  return describeCall({ ...read, answer: read.asked });
}
