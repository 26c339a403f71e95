/**
 * A log that lets go of nothing behind the copy that this replica keeps of its own database: from there it executes again what it has lost.
 *
 * Whatever the protocol says may go: what it wants gone meanwhile goes when a newer copy is there. Invariant: only where no copy can be made, for want of room, say, a log that has come to half of its bound is not held up any more. (For want of a moment of rest, one is forced: copy-keeper.ts.)
 */
import type { Slot } from '../../multipaxos/types/names.ts';
import type { LogStore } from '../../ports/log-store.ts';

export interface HeldLog extends LogStore {
  /** A newer copy is there. */
  release(): Promise<void>;
  /** It is half full, and a newer copy would let something go. */
  readonly isFilling: boolean;
}

const heldUpTo = 0.5;

export interface HeldLogOptions {
  readonly bytesMax: number;
  /** The slot of the copy; 0: there is none yet. */
  readonly floor: () => Slot;
  /** What may go is bound by what is open here, or held by sessions. */
  readonly isDurablyBehind: () => boolean;
  /** No copy can be made. */
  readonly cannotKeep: () => boolean;
}

function isHalfFull(store: Pick<LogStore, 'stats'>, bytesMax: number): boolean {
  return store.stats().bytes >= heldUpTo * bytesMax;
}

export function heldLog(
  store: LogStore,
  { bytesMax, floor, cannotKeep, isDurablyBehind }: HeldLogOptions,
): HeldLog {
  let wanted = 0 as Slot;
  const go = (): Promise<void> => {
    const isHeld = !cannotKeep() || !isHalfFull(store, bytesMax);
    const upTo = (isHeld ? Math.min(wanted, floor()) : wanted) as Slot;
    return upTo > 0 ? store.purge(upTo) : Promise.resolve();
  };
  return {
    identity: store.identity,
    recovered: store.recovered,
    append: (records) => store.append(records),
    read: (from, to, bytes) => store.read(from, to, bytes),
    purge(upTo) {
      wanted = Math.max(wanted, upTo) as Slot;
      return go();
    },
    release: () => go(),
    get isFilling() {
      return isHalfFull(store, bytesMax) && (wanted > floor() || isDurablyBehind());
    },
    stats: () => store.stats(),
    close: () => store.close(),
  };
}
