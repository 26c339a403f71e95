/**
 * Reads entries back. What does not match the checksum that its vote's node names is never returned.
 *
 * A slot may be written again, or purged, while it is being read: then what was read may match no vote that is durable, and is read anew.
 */
import type { Entry, GroupId, Slot } from '../../multipaxos/types.ts';
import { readEntry } from '../segment-log/entry-codec.ts';
import { codeOf, getData } from './client/protocol.ts';
import type { Contents } from './contents.ts';
import { corrupt } from './errors.ts';
import { entryPaths } from './group.ts';
import { entryChecksum, type LogPaths, type VoteNode } from './layout.ts';
import type { Link } from './link.ts';

/** What is asked for at a time. */
const REQUESTS_MAX = 512;
const BYTES_MAX = 16 * 1024 * 1024;

export interface StoredEntry {
  readonly slot: Slot;
  readonly vote: VoteNode;
  readonly entry: Entry;
}

export interface EntryReader {
  /** As LogStore.read. */
  readonly range: (fromSlot: Slot, toSlot: Slot, bytesMax: number) => Promise<StoredEntry[]>;
  /** These slots, as far as they are there. */
  readonly slots: (slots: readonly Slot[]) => Promise<StoredEntry[]>;
}

export function createEntryReader(
  group: GroupId,
  paths: LogPaths,
  link: Link,
  contents: Contents,
): EntryReader {
  /** Null: the slot has been purged. */
  const readSlot = async (slot: Slot): Promise<StoredEntry | null> => {
    for (;;) {
      const vote = contents.get(slot);
      if (vote === null) return null;
      const data = await readPieces(entryPaths(paths, slot, vote));
      if (data !== null && data.length === vote.bytes && entryChecksum(slot, data) === vote.checksum) {
        return { slot, vote, entry: readEntry(data, 0, data.length, group) };
      }
      if (contents.get(slot) === vote) {
        // The answer to a vote that is being written may still be on its way behind this one.
        await new Promise(setImmediate);
        await link.retried(getData(paths.vote(slot))).catch(ignoreMissing);
        await new Promise(setImmediate);
        if (contents.get(slot) === vote)
          throw corrupt(
            paths.entry(slot),
            data === null ? 'the entry is missing' : 'the entry fails its checksum',
          );
      }
    }
  };

  const readPieces = async (names: readonly string[]): Promise<Buffer | null> => {
    try {
      const pieces = await Promise.all(names.map((path) => link.retried(getData(path))));
      return Buffer.concat(pieces.map(({ data }) => data));
    } catch (error) {
      if (codeOf(error) === 'noNode') return null;
      throw error;
    }
  };

  const readAll = async (slots: readonly Slot[]): Promise<StoredEntry[]> => {
    const found: StoredEntry[] = [];
    for (const some of portions(slots, contents)) {
      for (const one of await Promise.all(some.map(readSlot))) if (one !== null) found.push(one);
    }
    return found;
  };

  return {
    slots: readAll,
    async range(fromSlot, toSlot, bytesMax) {
      const wanted: Slot[] = [];
      let bytes = 0;
      for (let slot = fromSlot; slot <= toSlot; slot++) {
        const vote = contents.get(slot);
        if (vote === null) break;
        bytes += vote.bytes;
        if (wanted.length > 0 && bytes > bytesMax) break;
        wanted.push(slot);
      }
      const found = await readAll(wanted);
      // A purge in the meantime takes the first ones; what is left does not begin at `fromSlot`.
      return found.length === wanted.length ? found : [];
    },
  };
}

function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== 'noNode') throw error;
}

/** Cuts `slots` so that neither requests nor bytes that are under way are too many. */
function* portions(slots: readonly Slot[], contents: Contents): Generator<readonly Slot[]> {
  let some: Slot[] = [];
  let bytes = 0;
  for (const slot of slots) {
    some.push(slot);
    bytes += contents.get(slot)?.bytes ?? 0;
    if (some.length < REQUESTS_MAX && bytes < BYTES_MAX) continue;
    yield some;
    some = [];
    bytes = 0;
  }
  if (some.length > 0) yield some;
}
