import { describe, expect, test } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { countReachable } from '../../../server/src/ports/testing/count-reachable.ts';
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { Frame } from '../model/frames.ts';
import { ballot, clusterOf, consensus, other, replica, vote } from '../model/testing.ts';
import { flightBounds } from './flights.ts';
import { RunRecord } from './run-record.ts';

const ids = ['r1', 'r2', 'r3'];
const flushMs = 100;

interface Pace {
  /** Slots in each flush; 0: heartbeats alone. */
  readonly slots: number;
  /** A replica loses its disk and comes back as another incarnation, and another ballot leads, every so many flushes. */
  readonly flushesBetween: number;
}

/** Events of the first part, which reaches each bound, and of the second. */
const filling = 180_000;
const more = 120_000;

/** What a group tells, flush by flush, with names and numbers that never come again. */
class Group {
  private slot = 0;
  private flush = 0;
  events = 0;
  private readonly seqs = new Map<string, number>();

  next({ slots, flushesBetween }: Pace): { readonly atMs: number; readonly frames: readonly Frame[] } {
    this.flush += 1;
    const life = 1 + Math.floor(this.flush / flushesBetween);
    const by = ballot(life, 'r1');
    const atUs = this.flush * flushMs * 1_000;
    const told: TraceEvent[] = [];
    for (let n = 0; n < slots; n += 1) this.agree(told, life, atUs);
    for (const id of ['r2', 'r3'])
      told.push(other(this.place(id, life), { layer: 'lease', name: 'HandleHeartbeat', ballot: by, atUs }));
    this.events += told.length;
    const commitPoint = this.slot as Slot;
    const statuses = ids.map((id) => replica(id, { ballot: by, commitPoint, incarnation: life }));
    return {
      atMs: this.flush * flushMs,
      frames: [
        { type: 'events', events: told },
        { type: 'cluster', cluster: clusterOf(...statuses) },
      ],
    };
  }

  private agree(told: TraceEvent[], life: number, atUs: number): void {
    this.slot += 1;
    const by = ballot(life, 'r1');
    const label = `r1.run${life}/${this.slot}`;
    const firstSlot = this.slot as Slot;
    const votes = [vote(this.slot, by, label)] as never;
    const state = { commitPoint: firstSlot, lastSlot: firstSlot, ballot: by };
    const accept = { kind: 'Accept', ballot: by, firstSlot, labels: [label] } as never;
    const sent = ['r2', 'r3'].map((to) => ({ to: to as ReplicaId, message: accept }));
    told.push(consensus(this.place('r1', life), { name: 'Propose', votes, sent, state, atUs }));
    const range = {
      layer: 'apply',
      atUs,
      label,
      timeline: 1,
      start: this.slot * 100,
      end: this.slot * 100 + 100,
    };
    told.push(other(this.place('r1', life), { ...range, name: 'Ship', commits: [] }));
    const from = 'r1' as ReplicaId;
    // Every third message is lost.
    for (const id of this.slot % 3 === 0 ? ['r2'] : ['r2', 'r3'])
      told.push(
        consensus(this.place(id, life), { name: 'HandleAccept', from, message: accept, votes, state, atUs }),
      );
    const xid = this.slot;
    const transactions = [{ pid: xid % 20, xid, state: 'running', sql: `INSERT ${xid}`, sinceMs: 0 }];
    told.push(
      other(this.place('r1', life), {
        layer: 'operation',
        name: 'RunningTransactions',
        transactions,
        more: 0,
        atUs,
      }),
    );
  }

  private place(id: string, life: number): { replica: string; run: string; seq: number } {
    const name = life === 1 ? id : `${id}.${life}`;
    const seq = (this.seqs.get(name) ?? 0) + 1;
    this.seqs.set(name, seq);
    return { replica: name, run: `${id}-${life}`, seq };
  }
}

function tell(record: RunRecord, group: Group, pace: Pace, events: number): void {
  const until = group.events + events;
  while (group.events < until) {
    const { atMs, frames } = group.next(pace);
    record.add(atMs, frames);
  }
}

describe('all that is kept of a run', () => {
  test('does not grow with what is told', () => {
    const pace: Pace = { slots: 100, flushesBetween: 150 };
    const record = new RunRecord();
    const group = new Group();
    // Until each bound is reached.
    tell(record, group, pace, filling);
    const early = countReachable(record);
    tell(record, group, pace, more);
    expect(record.flights.kept.length).toBeLessThanOrEqual(1.1 * flightBounds.flightsMax);
    // What is let go of at once makes it a little more or less.
    expect(countReachable(record)).toBeLessThan(1.1 * early);
  });

  test('knows the last incarnations alone', () => {
    const record = new RunRecord();
    const group = new Group();
    const idle: Pace = { slots: 0, flushesBetween: 1 };
    tell(record, group, idle, 600);
    const known = (): number => countReachable(record['last']);
    const early = known();
    tell(record, group, idle, 600);
    expect(known()).toBe(early);
  });
});
