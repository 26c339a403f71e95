/**
 * Reads entries back by slot. Every record is verified again on its way, so what rotted since it was written is never returned.
 *
 * Records that lie close together are fetched with one read.
 */
import type { GroupId, Slot } from '../../multipaxos/types/names.ts';
import { corrupt } from './errors.ts';
import { segmentName } from './layout.ts';
import { decodeEntryRecord, verifyRecord, type StoredEntry } from './record-codec.ts';
import type { SegmentSet } from './segment-set.ts';
import type { Location, SlotIndex } from './slot-index.ts';

const SPAN_BYTES_MAX = 1024 * 1024;
/** Reading a gap this small costs less than another read. */
const GAP_BYTES_MAX = 4096;

interface Wanted extends Location {
  readonly slot: Slot;
}

export interface EntryReaderOptions {
  readonly path: string;
  readonly group: GroupId;
  readonly segments: SegmentSet;
  readonly index: SlotIndex;
}

export interface EntryReader {
  /** As LogStore.read, with ballots. */
  readonly range: (fromSlot: Slot, toSlot: Slot, bytesMax: number) => Promise<StoredEntry[]>;
  /** These slots, which are in the index. */
  readonly slots: (slots: readonly Slot[]) => Promise<StoredEntry[]>;
}

export function createEntryReader({ path, group, segments, index }: EntryReaderOptions): EntryReader {
  const readSpan = async (span: readonly Wanted[]): Promise<StoredEntry[] | null> => {
    const first = span[0] as Wanted;
    const last = span.at(-1) as Wanted;
    const segment = segments.get(first.segment);
    // Purged since it was looked up.
    if (segment === undefined) return null;
    const bytes = Buffer.allocUnsafe(last.offset + last.bytes - first.offset);
    const image = bytes.subarray(0, await segment.file.read(bytes, first.offset));
    return span.map((wanted) => {
      const at = wanted.offset - first.offset;
      const end = verifyRecord(image, at, { seed: segment.seed, offset: wanted.offset, sequence: null });
      const found =
        end === null || end !== at + wanted.bytes ? null : decodeEntryRecord(image, at, end, group);
      if (found === null || found.slot !== wanted.slot) {
        throw corrupt(
          `${path}/${segmentName(wanted.segment)}`,
          wanted.offset,
          wanted.slot,
          'a record fails its checksum',
        );
      }
      return found;
    });
  };

  const readAll = async (wanted: readonly Wanted[]): Promise<StoredEntry[]> => {
    const entries: StoredEntry[] = [];
    for (const span of spans(wanted)) {
      const found = await readSpan(span);
      if (found === null) break;
      for (const entry of found) entries.push(entry);
    }
    return entries;
  };

  return {
    range(fromSlot, toSlot, bytesMax) {
      const wanted: Wanted[] = [];
      let bytes = 0;
      for (let slot = fromSlot; slot <= toSlot; slot++) {
        const location = index.get(slot);
        if (location === null) break;
        bytes += location.bytes;
        if (wanted.length > 0 && bytes > bytesMax) break;
        wanted.push({ slot, ...location });
      }
      return readAll(wanted);
    },
    slots(slots) {
      return readAll(slots.flatMap((slot) => ({ slot, ...(index.get(slot) as Location) })));
    },
  };
}

function* spans(wanted: readonly Wanted[]): Generator<readonly Wanted[]> {
  let span: Wanted[] = [];
  for (const next of wanted) {
    const first = span[0];
    const last = span.at(-1);
    if (first !== undefined && last !== undefined) {
      const gap = next.offset - (last.offset + last.bytes);
      const joined = next.offset + next.bytes - first.offset;
      if (next.segment !== first.segment || gap < 0 || gap > GAP_BYTES_MAX || joined > SPAN_BYTES_MAX) {
        yield span;
        span = [];
      }
    }
    span.push(next);
  }
  if (span.length > 0) yield span;
}
