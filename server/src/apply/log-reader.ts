/**
 * What ordered apply reads of the log: the next entries, the parts of a large transaction, and what a database that comes up waits for.
 *
 * Invariant: what is missing is said to be missing (MissingFromLog), never passed over.
 */
import type { Slot, SlotEntry } from '../multipaxos/types.ts';
import type { KeptWithPointer } from '../ports/database.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { ProposedTransaction, TransactionPayload } from './effects.ts';
import { createPassage, keptAt, passAgain, type Passage } from './passage.ts';
import { decodePayload } from './payload.ts';

type ReadableLog = Pick<LogStore, 'read'>;

/** The log lacks what must be applied. */
export class MissingFromLog extends Error {
  override readonly name = 'MissingFromLog';
}

/** The database wraps what went wrong while it read the parts. */
export function missingFromLog(error: unknown): MissingFromLog | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof MissingFromLog) return cause;
  }
  return null;
}

/** At least one entry. @throws MissingFromLog */
export async function readEntries(
  log: ReadableLog,
  from: Slot,
  to: Slot,
  bytesMax: number,
): Promise<SlotEntry[]> {
  const entries = await log.read(from, to, bytesMax);
  if (entries.length === 0) throw new MissingFromLog(`slot ${from} is chosen but missing from the log`);
  return entries.map((entry, index) => ({ slot: (from + index) as Slot, entry }));
}

/** The parts of a transaction in order, read back one at a time: memory is bounded by one part. May be read again. */
export function withParts(
  log: ReadableLog,
  last: ProposedTransaction,
): AsyncIterable<TransactionPayload> | readonly TransactionPayload[] {
  if (last.partSlots.length === 0) return [last];
  return {
    async *[Symbol.asyncIterator]() {
      for (const slot of last.partSlots) {
        const [entry] = await log.read(slot, slot, 1);
        if (entry?.kind !== 'command') {
          throw new MissingFromLog(`a part of ${last.transaction} is missing from the log: slot ${slot}`);
        }
        yield decodePayload(entry.payload);
      }
      yield last;
    },
  };
}

/** Takes in again what a database whose pointer is `to` may wait for. Only parts of the newest leadership can still be waited for. */
export async function readAgain(
  log: ReadableLog,
  keep: KeptWithPointer,
  to: Slot,
  bytesMax: number,
): Promise<Passage> {
  const passage = createPassage(keep);
  const from = keep.keepFrom;
  for (let slot = from; slot <= to; ) {
    const entries = await log.read(slot, to, bytesMax);
    // Of a copied database the log may lack what came before. It is kept in mind that they are needed, and they may come by catch-up.
    if (entries.length === 0) {
      passage.unread = { from, to };
      break;
    }
    for (const entry of entries) {
      passAgain(passage, slot, entry);
      slot = (slot + 1) as Slot;
    }
  }
  return passage;
}

/** The log may have caught up with what it lacked when the database came up. */
export async function readMissing(log: ReadableLog, passage: Passage, bytesMax: number): Promise<void> {
  const { unread } = passage;
  if (unread === null) return;
  const keep = { ...keptAt(passage, unread.to), keepFrom: unread.from };
  const again = await readAgain(log, keep, unread.to, bytesMax);
  if (again.unread !== null) return;
  for (const [transaction, span] of again.parts.spans) {
    if (!passage.parts.spans.has(transaction)) passage.parts.spans.set(transaction, span);
  }
  passage.unread = null;
}
