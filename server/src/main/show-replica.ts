/**
 * What people are shown of a replica beyond its status: what a slot of its log holds, and what clients are at while it leads.
 *
 * Responsible for: which adapters answer these questions, and how often the second one is asked. Has no part in what the replica does.
 */
import { relationNames } from '../adapters/postgres/inspection/relation-names.ts';
import { TransactionView } from '../adapters/postgres/inspection/transaction-view.ts';
import { connectPg } from '../adapters/postgres/pg-client.ts';
import { systemClock } from '../adapters/system-clock.ts';
import type { SlotRefusal } from '../api/wal-summary.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { ReplicaEvents } from '../replica/status/events.ts';
import { createSlotReader, type SlotReader } from '../replica/status/slot-reader.ts';
import { TransactionSampler } from '../replica/status/transaction-sampler.ts';
import type { AssembledReplica } from './assemble-replica.ts';

const paceMs = 150;
const idleMs = 500;

export interface ShownReplica {
  readonly readSlot: SlotReader;
  /** The replica's clients have written something. Cheap. */
  nudge(): void;
  stop(): void;
}

export interface ShowOptions {
  readonly config: ReplicaConfig;
  readonly socketDir: string;
  readonly log: LogStore;
  readonly events: ReplicaEvents;
}

export function showReplica(
  { core, payload }: AssembledReplica,
  { config, socketDir, log, events }: ShowOptions,
): ShownReplica {
  const view = new TransactionView({
    connect: () => connectPg({ socketDir, database: 'postgres' }),
    tellsSql: config.http.statements,
  });
  const sampler = new TransactionSampler({
    look: async () => (payload.primary === null ? null : view.look()),
    isWatched: () => events.isWatched,
    onSample: (sample) => events.operation({ name: 'RunningTransactions', ...sample }),
    timers: systemClock,
    paceMs,
    idleMs,
  });
  return {
    readSlot: createSlotReader({
      read: (from, to, bytesMax) => core.readChosen(from, to, bytesMax),
      commitPoint: () => core.commitPoint,
      purgedTo: () => log.stats().purgedTo,
      names: (files) => relationNames(files, (database) => connectPg({ socketDir, database })),
    }),
    nudge: () => sampler.nudge(),
    stop: () => {
      sampler.stop();
      void view.close();
    },
  };
}

/** The answer of a replica that has no log yet. */
export function unreadable(message: string): SlotRefusal {
  return { error: { code: 'unavailable', message } };
}
