/**
 * The disk under a core that is led through a behaviour.
 *
 * Responsible for: keeping records that have become durable, and what a restart finds, as a log store does. What else survives a crash (the commit point that
 * was written last, the configuration) is the behaviour's choice.
 */
import { entryLabel } from '../../../server/src/multipaxos/entry.ts';
import type { Entry } from '../../../server/src/multipaxos/types/entries.ts';
import type { Configuration } from '../../../server/src/multipaxos/types/members.ts';
import type { EntryLabel, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../../server/src/multipaxos/types/records.ts';
import { writeDurably } from '../trace/apply-step.ts';
import { noBallot, type Held } from '../trace/spec-message.ts';
import { specRecord } from './core-view.ts';
import { founding } from './replay-members.ts';
import { specConfiguration, type ReplicaView } from './spec-view.ts';

export interface CoreDisk {
  /** Returns whether it is one of the records that the spec counts. */
  write(record: LogRecord): boolean;
  /** What a copy of a database holds: a record of its base says only up to where. */
  copied(entries: readonly Entry[]): void;
  crash(commitPoint: number, configuration: Configuration): void;
  recovered(): RecoveredLog;
  durable(): Pick<ReplicaView, 'durablePromised' | 'durableLog'>;
  /** Of a replica that is down. */
  left(): Pick<ReplicaView, 'commitPoint' | 'configuration'>;
}

export function createDisk(): CoreDisk {
  const disk = { durablePromised: noBallot, durableLog: new Map<number, Held>() };
  const entries = new Map<EntryLabel, Entry>();
  const chosen = new Map<number, EntryLabel>();
  let base = { slot: 0 as Slot, configuration: founding };
  let hint = { commitPoint: 0, configuration: founding };
  return {
    write(record) {
      if (record.kind === 'vote' || record.kind === 'chosen')
        entries.set(entryLabel(record.entry), record.entry);
      if (record.kind === 'base') base = record;
      const written = specRecord(record);
      if (written !== null) writeDurably(disk, written, { chosen });
      return written !== null;
    },
    copied(content) {
      for (const [i, entry] of content.entries()) chosen.set(i + 1, entryLabel(entry));
    },
    crash(commitPoint, configuration) {
      hint = { commitPoint, configuration };
    },
    // Nothing at or below the base.
    recovered() {
      const commitPoint = Math.max(hint.commitPoint, base.slot) as Slot;
      const tail = [...disk.durableLog].filter(([slot]) => slot > commitPoint).sort(([a], [b]) => a - b);
      const { configuration } = hint.configuration.version > base.configuration.version ? hint : base;
      return {
        promised: disk.durablePromised,
        commitPoint,
        purgedTo: base.slot,
        configuration,
        tail: tail.map(([slot, { ballot, label }]) => ({
          slot: slot as Slot,
          ballot,
          entry: entries.get(label) as Entry,
        })),
      };
    },
    durable: () => ({
      durablePromised: disk.durablePromised,
      durableLog: Object.fromEntries(disk.durableLog),
    }),
    left: () => ({
      commitPoint: hint.commitPoint,
      configuration: specConfiguration(hint.configuration),
    }),
  };
}
