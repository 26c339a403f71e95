/**
 * The lives of replicas in a recorded run, each with what it tells of the lease, and with the messages of leaders that others tell of.
 *
 * Responsible for: putting a message to where its sender sent it, by the sender's own clock. Judges nothing. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { Ballot, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { ballotKey, type LeaseEvent } from './lease-event.ts';

export type LeaseItem =
  | { readonly kind: 'event'; readonly clockMs: number; readonly atUs: number; readonly event: LeaseEvent }
  /** A leader's message; no event tells its sending. */
  | { readonly kind: 'sent'; readonly clockMs: number; readonly atUs: number; readonly ballot: Ballot };

/** One life of a replica: a run of its process. */
export interface Life {
  readonly replica: ReplicaId;
  readonly run: string;
  readonly items: readonly LeaseItem[];
  /** The last of its events of any layer. */
  readonly endAtUs: number;
}

/** In the order of their beginnings. */
export function livesOf(events: readonly TraceEvent[]): readonly Life[] {
  const runs = new Map<string, { told: LeaseEvent[]; endAtUs: number }>();
  for (const event of events) {
    const run = runs.get(event.run) ?? { told: [], endAtUs: 0 };
    runs.set(event.run, run);
    if (event.layer === 'lease') run.told.push(event);
    run.endAtUs = Math.max(run.endAtUs, event.atUs);
  }
  const sent = sentIn(events);
  const lives: Life[] = [];
  for (const [run, { told, endAtUs }] of runs) {
    const [first] = told.sort((a, b) => a.seq - b.seq);
    if (first === undefined) continue;
    lives.push({ replica: first.replica, run, items: withSent(told, sent), endAtUs });
  }
  return lives.sort((a, b) => (a.items[0] as LeaseItem).atUs - (b.items[0] as LeaseItem).atUs);
}

/** Of each ballot: when its leader sent something that somebody heard. */
function sentIn(events: readonly TraceEvent[]): ReadonlyMap<string, ReadonlySet<number>> {
  const sent = new Map<string, Set<number>>();
  const add = (ballot: Ballot, sentAtMs: number): void => {
    const key = ballotKey(ballot);
    const times = sent.get(key) ?? new Set();
    sent.set(key, times.add(sentAtMs));
  };
  for (const event of events) {
    if (event.layer !== 'lease') continue;
    if (event.name === 'HandleHeartbeat') add(event.ballot, event.sentAtMs);
    // Who heard it may have been killed at once.
    if ('lease' in event) for (const [, at] of event.lease?.acked ?? []) add(event.lease!.ballot, at);
  }
  return sent;
}

/** What was sent in a step stands behind the beginning of its leadership, and before all else of that step. */
function withSent(
  told: readonly LeaseEvent[],
  sent: ReadonlyMap<string, ReadonlySet<number>>,
): readonly LeaseItem[] {
  const items: LeaseItem[] = [];
  let waiting: number[] = [];
  let ballot: Ballot | null = null;
  let before: Moment = { clockMs: 0, atUs: 0 };
  const sendUntil = (next: Moment | null): void => {
    if (ballot === null) return;
    const untilMs = next?.clockMs ?? Number.POSITIVE_INFINITY;
    while (waiting[0] !== undefined && waiting[0] <= untilMs) {
      const clockMs: number = waiting.shift() as number;
      items.push({ kind: 'sent', clockMs, atUs: timeOf(clockMs, before, next), ballot });
    }
  };
  for (const event of told) {
    const { clockMs, atUs } = event;
    sendUntil({ clockMs, atUs });
    items.push({ kind: 'event', clockMs, atUs, event });
    before = { clockMs, atUs };
    if (event.name !== 'Lead') continue;
    ballot = event.lease.ballot;
    waiting = [...(sent.get(ballotKey(ballot)) ?? [])].filter((at) => at >= clockMs).sort((a, b) => a - b);
  }
  sendUntil(null);
  return items;
}

interface Moment {
  readonly clockMs: number;
  readonly atUs: number;
}

/** When a clock showed that between two moments, or behind the last one. */
function timeOf(clockMs: number, before: Moment, next: Moment | null): number {
  const passedMs = clockMs - before.clockMs;
  const isMoving = next !== null && next.clockMs > before.clockMs;
  const usPerMs = isMoving ? (next.atUs - before.atUs) / (next.clockMs - before.clockMs) : 1000;
  return Math.round(before.atUs + passedMs * usPerMs);
}
