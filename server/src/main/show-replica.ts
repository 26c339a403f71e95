/**
 * What people are shown of a replica beyond its status: what a slot of its log holds, and what clients are at while it leads.
 *
 * Responsible for: whose parts answer these questions, and how often the second one is asked. Has no part in what the replica does. PostgreSQL is asked by inspected-postgres.ts.
 */
import type { RelationName, SlotRefusal } from '../api/wal-summary.ts';
import type { Timers } from '../ports/clock.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { ReplicaEvents } from '../replica/status/events.ts';
import { createSlotReader, type SlotReader } from '../replica/status/slot-reader.ts';
import { type Sample, TransactionSampler } from '../replica/status/transaction-sampler.ts';
import type { RelationFile } from '../wal/record/block-references.ts';
import type { AssembledReplica } from './assemble-replica.ts';

const paceMs = 150;
const idleMs = 500;

export interface ShownReplica {
  readonly readSlot: SlotReader;
  /** The replica's clients have written something. Cheap. */
  nudge(): void;
  stop(): void;
}

/** A database as far as people may look into it. */
export interface InspectedDatabase {
  /** What its clients are at, while it is a primary. @throws Error */
  look(): Promise<Sample>;
  /** By `fileKey`; never rejects. */
  names(files: readonly RelationFile[]): Promise<ReadonlyMap<string, RelationName>>;
  close(): void;
}

export interface ShowOptions {
  readonly database: InspectedDatabase;
  readonly log: LogStore;
  readonly events: ReplicaEvents;
  readonly timers: Timers;
}

export function showReplica(
  { core, payload }: AssembledReplica,
  { database, log, events, timers }: ShowOptions,
): ShownReplica {
  const sampler = new TransactionSampler({
    look: async () => (payload.primary === null ? null : database.look()),
    isWatched: () => events.isWatched,
    onSample: (sample) => events.operation({ name: 'RunningTransactions', ...sample }),
    timers,
    paceMs,
    idleMs,
  });
  return {
    readSlot: createSlotReader({
      read: (from, to, bytesMax) => core.readChosen(from, to, bytesMax),
      commitPoint: () => core.commitPoint,
      purgedTo: () => log.stats().purgedTo,
      names: (files) => database.names(files),
    }),
    nudge: () => sampler.nudge(),
    stop: () => {
      sampler.stop();
      database.close();
    },
  };
}

/** The answer of a replica that has no log yet. */
export function unreadable(message: string): SlotRefusal {
  return { error: { code: 'unavailable', message } };
}
