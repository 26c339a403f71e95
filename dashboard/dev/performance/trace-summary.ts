/** Development only: what a browser's trace says of where the time went: of each thread, what it did most, without what was done within. Pure. */

/** As far as it is read: of the browser's own format. */
export interface TraceEvent {
  readonly name: string;
  /** `X`: it has a beginning and a duration, in microseconds. `M`: a name of a thread or a process. */
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  readonly args?: { readonly name?: string };
}

export interface ThreadTime {
  readonly thread: string;
  /** Of the whole trace, 0 to 1. */
  readonly busy: number;
  readonly most: readonly { readonly work: string; readonly share: number }[];
}

const worksMax = 4;
/** Threads that do less are left out. */
const leastBusy = 0.02;

/** The busiest first. */
export function threadTimes(events: readonly TraceEvent[]): readonly ThreadTime[] {
  const threads = new Map<string, TraceEvent[]>();
  const names = new Map<string, string>();
  let fromUs = Number.POSITIVE_INFINITY;
  let toUs = 0;
  for (const event of events) {
    const key = `${event.pid} ${event.tid}`;
    if (event.ph === 'M' && event.name === 'thread_name') names.set(key, event.args?.name ?? key);
    if (event.ph !== 'X' || event.dur === undefined) continue;
    fromUs = Math.min(fromUs, event.ts);
    toUs = Math.max(toUs, event.ts + event.dur);
    const own = threads.get(key) ?? [];
    threads.set(key, own);
    own.push(event);
  }
  return [...threads]
    .map(([key, own]) => timeOf(names.get(key) ?? key, own, toUs - fromUs))
    .filter(({ busy }) => busy >= leastBusy)
    .sort((a, b) => b.busy - a.busy);
}

function timeOf(thread: string, events: readonly TraceEvent[], wholeUs: number): ThreadTime {
  const own = ownTimes(events);
  const busy = [...own.values()].reduce((sum, us) => sum + us, 0) / wholeUs;
  const most = [...own]
    .map(([work, us]) => ({ work, share: us / wholeUs }))
    .sort((a, b) => b.share - a.share)
    .slice(0, worksMax);
  return { thread, busy, most };
}

/** By name, without what was done within. */
function ownTimes(events: readonly TraceEvent[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  const add = (name: string, us: number): void => void times.set(name, (times.get(name) ?? 0) + us);
  const open: { readonly name: string; readonly endUs: number }[] = [];
  for (const { name, ts, dur = 0 } of events.toSorted((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0))) {
    while (open.length > 0 && open.at(-1)!.endUs <= ts) open.pop();
    const around = open.at(-1);
    // One that outlasts what is around it counts there as far as that goes.
    if (around !== undefined) add(around.name, -Math.min(dur, around.endUs - ts));
    add(name, dur);
    open.push({ name, endUs: ts + dur });
  }
  return times;
}
