/**
 * What of the next chosen entries goes into one PostgreSQL transaction (barista.txt 2.3; specs/OrderedApply.tla).
 *
 * Decides where a batch ends and what each of its slots does to the database. Fetches no entries and applies none: the parts of a large
 * transaction are only read when the database asks for them.
 *
 * Invariants: a batch is a prefix of the entries, in slot order and without a gap, and never empty; it spans one leadership; a large transaction
 * and a check that is to be met stand first in it; what is passed over in the database is passed all the same.
 */
import { entryLabel } from '../multipaxos/entry.ts';
import type { Slot, SlotEntry } from '../multipaxos/types.ts';
import type { SlotToApply } from '../ports/database.ts';
import type { LogStore } from '../ports/log-store.ts';
import { isApplied, type AppliedSet } from './applied-set.ts';
import { withParts } from './log-reader.ts';
import { meaningAt, pass, takesEffect, type Passage } from './passage.ts';
import { decodePayload } from './payload.ts';
import type { Meaning } from './succession.ts';

export interface Batch {
  /** Every slot of the batch, with what it does to the database. */
  readonly slots: SlotToApply[];
  /** Slots that change the data, as trace events name their entries. */
  readonly applied: [Slot, string][];
  /** The first statements of each transaction, for people to read. */
  readonly sql: string[];
  readonly passed: [Slot, Meaning][];
}

export interface BatchContext {
  readonly log: Pick<LogStore, 'read'>;
  /** Moves on over each entry of the batch. */
  readonly passage: Passage;
  readonly applied: AppliedSet;
  /** Transactions that are in, too, but were prepared before their slot was known. */
  readonly appliedTransactions: ReadonlySet<string>;
  /** False if checks are passed over. */
  readonly checks: boolean;
}

/** `entries` are consecutive and begin right above the pointer. @throws PayloadError */
export function gatherBatch(entries: readonly SlotEntry[], context: BatchContext): Batch {
  const { log, passage, applied, appliedTransactions, checks } = context;
  const batch: Batch = { slots: [], applied: [], sql: [], passed: [] };
  for (const item of upToNextLeader(entries)) {
    const { slot, entry } = item;
    const meaning = meaningAt(passage, entry);
    if (batch.slots.length > 0 && beginsBatch(meaning, checks)) break;
    pass(passage, item, meaning);
    batch.passed.push([slot, meaning]);
    const skip =
      !takesEffect(meaning) || isApplied(applied, slot) || appliedTransactions.has(meaning.head.transaction);
    const payload = skip ? null : decodePayload(meaning.bytes);
    batch.slots.push({ slot, transaction: payload === null ? null : withParts(log, payload) });
    if (payload === null) continue;
    batch.applied.push([slot, entryLabel(entry)]);
    batch.sql.push(...payload.sql.slice(0, 3));
  }
  return batch;
}

/**
 * A large transaction: the database may apply a batch bit by bit, and stop in between: it must not say then that it needs no parts any more. A check:
 * what is above must not be in yet.
 */
function beginsBatch(meaning: Meaning, checks: boolean): boolean {
  if (meaning.kind === 'verify') return checks;
  return meaning.kind === 'transaction' && meaning.head.partSlots.length > 0;
}

/** A batch ends before a leader's beginning, so that one leadership is right for every slot that the pointer may stop at. */
function upToNextLeader(entries: readonly SlotEntry[]): readonly SlotEntry[] {
  const next = entries.findIndex(({ entry }, index) => index > 0 && entry.kind === 'leaderStart');
  return next === -1 ? entries : entries.slice(0, next);
}
