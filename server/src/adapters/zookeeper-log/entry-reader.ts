/**
 * Reads entries back. What does not match the checksum that its vote's node names is never returned.
 *
 * A slot may be written again, or purged, while it is being read. Then what was read may be newer than the vote that is known here; it is read anew until
 * the answer to that write has been dealt with.
 */
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { GroupId, Slot } from '../../multipaxos/types/names.ts';
import { LogStoreError } from '../../ports/log-store.ts';
import { readEntry } from '../segment-log/entry-codec.ts';
import { codeOf, getData } from './client/protocol.ts';
import type { Contents } from './contents.ts';
import { corrupt } from './errors.ts';
import { entryPaths } from './group.ts';
import { entryChecksum, fromJson, type LogPaths, type VoteNode } from './layout.ts';
import type { Link } from './link.ts';

/** What is asked for at a time. */
const REQUESTS_MAX = 512;
const BYTES_MAX = 16 * 1024 * 1024;
const DAMAGED_ATTEMPTS = 3;
/** How long an entry may be newer than its vote is known to be. */
const NEWER_MS_MAX = 5000;

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
    const deadline = performance.now() + NEWER_MS_MAX;
    for (;;) {
      const vote = contents.get(slot);
      if (vote === null) return null;
      const data = await readPieces(entryPaths(paths, slot, vote));
      if (data !== null && matches(slot, data, vote)) {
        return { slot, vote, entry: readEntry(data, 0, data.length, group) };
      }
      if (contents.get(slot) === vote && (await isDamaged(slot)))
        throw corrupt(
          paths.entry(slot),
          data === null ? 'the entry is missing' : 'the entry fails its checksum',
        );
      if (performance.now() > deadline)
        throw new LogStoreError(
          'logFailed',
          `${paths.entry(slot)} in ZooKeeper was written by another process`,
        );
      await new Promise(setImmediate);
    }
  };

  /** Whether what ZooKeeper itself has as the vote names another entry than it has. Both are written at once. */
  const isDamaged = async (slot: Slot): Promise<boolean> => {
    for (let attempt = 0; attempt < DAMAGED_ATTEMPTS; attempt++) {
      const before = await readVote(slot);
      if (before === null) return false;
      const [data, after] = await Promise.all([readPieces(entryPaths(paths, slot, before)), readVote(slot)]);
      if (data !== null && matches(slot, data, before)) return false;
      if (JSON.stringify(before) !== JSON.stringify(after)) return false;
    }
    return true;
  };

  const readVote = async (slot: Slot): Promise<VoteNode | null> => {
    const data = await readPieces([paths.vote(slot)]);
    return data === null ? null : (fromJson(data) as VoteNode);
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

function matches(slot: Slot, data: Uint8Array, vote: VoteNode): boolean {
  return data.length === vote.bytes && entryChecksum(slot, data) === vote.checksum;
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
