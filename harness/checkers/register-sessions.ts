/**
 * Registers as sessions that read in a mode were shown them: each value was written by then, and none is older than one that the session was shown before. Pure.
 *
 * Judges what has no place in an order of all operations (register.ts): reads of snapshots of any age, and what one session was shown in turn. Of two values it is known which is older if the write of one had ended before
 * that of the other began, or if that one was swapped for this.
 */
import { describeCall, type Anomaly } from './anomaly.ts';
import type { Call } from './history.ts';

type Value = number | null;
type Writes = ReadonlyMap<string, Call | 'several'>;

export function checkRegisterSessions(calls: readonly Call[]): readonly Anomaly[] {
  const reads = calls.filter(({ f, outcome, terms }) => f === 'read' && outcome === 'ok' && terms !== null);
  if (reads.length === 0) return [];
  const writes = writesOf(calls);
  const shown = new Map<string, Call>();
  return reads.flatMap((read) => {
    const place = `${read.terms!.session}/${keyOf(read)}`;
    const before = shown.get(place);
    shown.set(place, read);
    const unwritten = read.terms!.mode === 'snapshot' ? badValue(read, writes) : [];
    return unwritten.concat(before === undefined ? [] : goneBack(before, read, writes));
  });
}

function keyOf({ asked }: Call): string {
  return (asked as { readonly key: string }).key;
}

function valueOf({ answer }: Call): Value {
  return (answer as { readonly value: Value }).value;
}

/** By key and value. */
function writesOf(calls: readonly Call[]): Writes {
  const writes = new Map<string, Call | 'several'>();
  for (const call of calls) {
    if (call.f === 'read') continue;
    const { value, to } = call.asked as { readonly value?: number; readonly to?: number };
    const place = `${keyOf(call)}/${value ?? to}`;
    writes.set(place, writes.has(place) ? 'several' : call);
  }
  return writes;
}

function didHappen({ f, outcome, answer }: Call): boolean {
  if (outcome === 'fail') return false;
  return f !== 'cas' || outcome === 'info' || (answer as { readonly swapped: boolean }).swapped;
}

function badValue(read: Call, writes: Writes): readonly Anomaly[] {
  const value = valueOf(read);
  if (value === null) return [];
  const write = writes.get(`${keyOf(read)}/${value}`);
  if (write === 'several') return [];
  const isThere = write !== undefined && didHappen(write) && write.begin < read.end;
  if (isThere) return [];
  const detail = [describeCall(read), ...(write === undefined ? [] : [describeCall(write)])];
  return [
    {
      kind: 'unwritten',
      summary: `register ${keyOf(read)} was read as ${value}, which it never was by then`,
      detail,
    },
  ];
}

function goneBack(before: Call, read: Call, writes: Writes): readonly Anomaly[] {
  const [older, newer] = [valueOf(read), valueOf(before)];
  if (older === newer || newer === null) return [];
  const [first, second] = [older, newer].map((value) => writes.get(`${keyOf(read)}/${value}`));
  if (second === undefined || second === 'several' || first === 'several') return [];
  const isSwapped = second.f === 'cas' && (second.asked as { readonly from: Value }).from === older;
  const isOlder = older === null || isSwapped || (first !== undefined && first.end < second.begin);
  if (!isOlder) return [];
  const summary = `register ${keyOf(read)} was read as ${newer}, and then in the same session as ${older}, which is older`;
  return [{ kind: 'session-went-back', summary, detail: [describeCall(before), describeCall(read)] }];
}
