/**
 * One order of what all replicas tell of the lease: by time, but nothing is heard before it was sent.
 *
 * Clocks of processes of one machine are read at slightly different times than their events are stamped with. Where no order fits, the earliest is taken, and the judge rejects it. Judges nothing. Pure.
 */
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { ballotKey } from './lease-event.ts';
import type { LeaseItem, Life } from './lease-runs.ts';

export interface Placed {
  readonly item: LeaseItem;
  readonly life: Life;
}

/** What an item says was before it, and what it is to others. */
interface Causes {
  readonly needs: readonly string[];
  readonly gives: string | null;
}

export function inOneOrder(lives: readonly Life[]): readonly Placed[] {
  const queues = lives.map((life) => ({
    life,
    items: life.items.map((item) => ({ item, causes: causesOf(item, life.replica) })),
    next: 0,
  }));
  const missing = new Set<string>();
  for (const { items } of queues)
    for (const { causes } of items) if (causes.gives !== null) missing.add(causes.gives);
  const placed: Placed[] = [];
  for (;;) {
    let earliest: (typeof queues)[number] | null = null;
    let ready: (typeof queues)[number] | null = null;
    for (const queue of queues) {
      const head = queue.items[queue.next];
      if (head === undefined || isBehindAnother(queue, queues)) continue;
      const { atUs } = head.item;
      if (earliest === null || atUs < atUsOf(earliest)) earliest = queue;
      if (ready !== null && atUs >= atUsOf(ready)) continue;
      if (head.causes.needs.every((cause) => !missing.has(cause))) ready = queue;
    }
    const queue = ready ?? earliest;
    if (queue === null) return placed;
    const { item, causes } = queue.items[queue.next++]!;
    if (causes.gives !== null) missing.delete(causes.gives);
    placed.push({ item, life: queue.life });
  }
}

function atUsOf(queue: {
  readonly items: readonly { readonly item: LeaseItem }[];
  readonly next: number;
}): number {
  return queue.items[queue.next]!.item.atUs;
}

/** A life of a replica follows the one before it. */
function isBehindAnother<
  Q extends { readonly life: Life; readonly items: readonly unknown[]; readonly next: number },
>(queue: Q, queues: readonly Q[]): boolean {
  for (const other of queues) {
    if (other === queue) return false;
    if (other.life.replica === queue.life.replica && other.next < other.items.length) return true;
  }
  return false;
}

const nothing: Causes = { needs: [], gives: null };

function causesOf(item: LeaseItem, replica: ReplicaId): Causes {
  if (item.kind === 'sent') return { needs: [], gives: `sent ${ballotKey(item.ballot)} ${item.clockMs}` };
  const { event } = item;
  switch (event.name) {
    case 'HandleHeartbeat': {
      const what = `${ballotKey(event.ballot)} ${event.sentAtMs}`;
      return { needs: [`sent ${what}`], gives: `heard ${what} ${replica}` };
    }
    case 'GivePromise': {
      const { ballot } = event;
      const gives = `promised ${ballotKey(ballot)} ${replica}`;
      return ballot.replica === replica
        ? { needs: [], gives }
        : { needs: [`promised ${ballotKey(ballot)} ${ballot.replica}`], gives };
    }
    case 'HandleHeartbeatAck':
    case 'AnswerRead':
    case 'RefuseAnswer': {
      if (event.lease === null) return nothing;
      const { ballot, acked } = event.lease;
      return { needs: acked.map(([peer, at]) => `heard ${ballotKey(ballot)} ${at} ${peer}`), gives: null };
    }
    case 'Resign':
      return { needs: [], gives: `resigned ${ballotKey(event.ballot)}` };
    case 'HandleResigned':
      return { needs: [`resigned ${ballotKey(event.ballot)}`], gives: null };
    case 'Restart':
    case 'Lead':
    case 'Learn':
    case 'RunRead':
      return nothing;
    default:
      return event satisfies never;
  }
}
