/**
 * The disk of a simulated replica of single-decree Paxos: what is durable, and what a crash may take.
 *
 * Records become durable in order; a crash leaves a prefix of what was appended. It keeps what a log store keeps (server/src/ports/log-store.ts).
 */
import { ballotNone, compareBallots, higherBallot } from '../../server/src/multipaxos/ballot.ts';
import type { Entry } from '../../server/src/multipaxos/types/entries.ts';
import type { Ballot, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../server/src/multipaxos/types/records.ts';

type Kept = RecoveredLog['tail'][number];
export type Written =
  | { readonly seq: number; readonly records: readonly LogRecord[] }
  | { readonly purge: Slot };

export class PaxosDisk {
  readonly entries = new Map<Slot, Kept>();
  readonly promises = new Map<Slot, Ballot>();
  commitPoint = 0 as Slot;
  purgedTo = 0 as Slot;
  readonly unflushed: Written[] = [];

  /** The first `count` of what was appended become durable. @returns them */
  flush(count = this.unflushed.length): readonly Written[] {
    const flushed = this.unflushed.splice(0, count);
    for (const item of flushed) {
      if ('purge' in item) this.forget(item.purge);
      else for (const record of item.records) this.keep(record);
    }
    return flushed;
  }

  recovered(): RecoveredLog {
    const commitPoint = Math.max(this.commitPoint, this.purgedTo) as Slot;
    const above = <T extends { readonly slot: Slot }>(all: Iterable<T>): T[] =>
      [...all].filter(({ slot }) => slot > commitPoint).sort((a, b) => a.slot - b.slot);
    return {
      promised: ballotNone,
      commitPoint,
      purgedTo: this.purgedTo,
      configuration: { version: 1, slot: 0 as Slot, members: [] },
      tail: above(this.entries.values()),
      slotPromises: above([...this.promises].map(([slot, ballot]) => ({ slot, ballot }))),
    };
  }

  /** Consecutive entries, as a log store reads them. */
  read(fromSlot: Slot, toSlot: Slot): Entry[] {
    const found: Entry[] = [];
    for (let slot = fromSlot; slot <= toSlot; slot = (slot + 1) as Slot) {
      const kept = this.entries.get(slot);
      if (kept === undefined) break;
      found.push(kept.entry);
    }
    return found;
  }

  /** The highest ballot that binds it in a slot. */
  promiseOf(slot: Slot): Ballot {
    return higherBallot(this.promises.get(slot) ?? ballotNone, this.entries.get(slot)?.ballot ?? ballotNone);
  }

  private keep(record: LogRecord): void {
    switch (record.kind) {
      case 'slotPromise': {
        const before = this.promises.get(record.slot) ?? ballotNone;
        if (record.slot > this.purgedTo && compareBallots(record.ballot, before) > 0)
          this.promises.set(record.slot, record.ballot);
        return;
      }
      case 'vote':
      case 'chosen': {
        const ballot = record.kind === 'vote' ? record.ballot : null;
        if (record.slot > this.purgedTo)
          this.entries.set(record.slot, { slot: record.slot, ballot, entry: record.entry });
        return;
      }
      case 'commitPoint':
        this.commitPoint = Math.max(this.commitPoint, record.slot) as Slot;
        return;
      case 'base':
        this.forget(record.slot);
        return;
      case 'promise':
      case 'configuration':
        throw new Error(`single-decree Paxos writes no ${record.kind}`);
      default:
        record satisfies never;
    }
  }

  private forget(upTo: Slot): void {
    for (const slot of this.entries.keys()) if (slot <= upTo) this.entries.delete(slot);
    for (const slot of this.promises.keys()) if (slot <= upTo) this.promises.delete(slot);
    this.purgedTo = Math.max(this.purgedTo, upTo) as Slot;
    this.commitPoint = Math.max(this.commitPoint, upTo) as Slot;
  }
}
