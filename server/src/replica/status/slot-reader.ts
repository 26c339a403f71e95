/**
 * Reads one slot of the log for people: what it holds, with the names of the tables.
 *
 * Responsible for: which slots can be told of, and how many are read at a time. What a slot holds is payload/wal/summary, or statements/shown-operations.ts; names are asked of PostgreSQL.
 * Invariants: only what is known to be chosen is told; at most `atOnceMax` are being read.
 */
import type { RelationName, SlotAnswer, SlotContent, SlotRefusal } from '../../api/wal-summary.ts';
import { entryLabel } from '../../multipaxos/entry.ts';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { RelationFile } from '../../wal/record/block-references.ts';
import { filesOf, nameRelations } from '../../payload/wal/summary/name-relations.ts';
import { slotContent } from '../../payload/wal/summary/slot-content.ts';

export interface SlotReaderOptions {
  /** Chosen entries from a slot on; none if the log does not have it. @throws Error */
  readonly read: (from: Slot, to: Slot, bytesMax: number) => Promise<readonly Entry[]>;
  readonly commitPoint: () => Slot;
  readonly purgedTo: () => Slot;
  /** What an entry holds. Default: that WAL travels. */
  readonly content?: (entry: Entry) => SlotContent;
  /** By `fileKey`; never rejects. */
  readonly names: (files: readonly RelationFile[]) => Promise<ReadonlyMap<string, RelationName>>;
}

export type SlotReader = (slot: Slot) => Promise<SlotAnswer | SlotRefusal>;

const atOnceMax = 4;

export function createSlotReader({
  read,
  commitPoint,
  purgedTo,
  content: contentOf = slotContent,
  names,
}: SlotReaderOptions): SlotReader {
  let reading = 0;

  async function readSlot(slot: Slot): Promise<SlotAnswer | SlotRefusal> {
    if (slot > commitPoint()) return refusal('notChosen', `Slot ${slot} is not known to be chosen here.`);
    const [entry] = slot <= purgedTo() ? [] : await read(slot, slot, 1);
    if (entry === undefined) return missing(slot);
    const content = contentOf(entry);
    const label = entryLabel(entry);
    if (content.kind !== 'range') return { slot, label, content };
    return { slot, label, content: nameRelations(content, await names(filesOf(content))) };
  }

  /** A slot may be known to be chosen before the log of this replica has it: that passes, and a purge does not. */
  function missing(slot: Slot): SlotRefusal {
    return slot <= purgedTo()
      ? refusal('purged', `The log does not have slot ${slot} any more.`)
      : refusal('unavailable', `Slot ${slot} is chosen, but the log here does not have it yet.`);
  }

  return async (slot) => {
    if (reading >= atOnceMax) return refusal('unavailable', 'Too many slots are being read already.');
    reading += 1;
    try {
      return await readSlot(slot);
    } catch (error) {
      return refusal(
        'failed',
        `Slot ${slot} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      );
    } finally {
      reading -= 1;
    }
  };
}

function refusal(code: SlotRefusal['error']['code'], message: string): SlotRefusal {
  return { error: { code, message } };
}
