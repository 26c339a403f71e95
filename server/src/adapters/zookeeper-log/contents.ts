/**
 * What the log holds, in memory: all that it remembers besides entries, and the vote of each slot. In-process only.
 *
 * There are two views: `durable`, which readers see, and what will be durable once all that was sent has been answered, which the next group
 * builds upon. Invariant: none of promise, commit point, base and configuration ever goes back.
 */
import { ballotNone, compareBallots, higherBallot } from '../../multipaxos/ballot.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { Ballot, Slot } from '../../multipaxos/types/names.ts';
import type { MetaNodes, VoteNode } from './layout.ts';

/** What the nodes of one slot take in ZooKeeper beside the entry, about. */
const SLOT_BYTES = 256;

/** What one group of records changes. */
export interface Change {
  readonly promise: Ballot;
  readonly commitPoint: Slot;
  readonly base: Slot;
  readonly configuration: Configuration | null;
  /** Of slots above the base. */
  readonly slotPromises: ReadonlyMap<Slot, Ballot>;
  /** Slots above the base. */
  readonly votes: ReadonlyMap<Slot, VoteNode>;
}

export interface Contents {
  readonly meta: () => MetaNodes;
  readonly get: (slot: Slot) => VoteNode | null;
  readonly slotPromise: (slot: Slot) => Ballot | null;
  /** Slots that have a promise of their own, ascending. */
  readonly promisedSlots: () => Slot[];
  /** Slots that have a vote, ascending. */
  readonly slots: () => Slot[];
  readonly bytes: () => number;
  /** Makes the change durable; returns the votes that it replaced or, if the base rose, let go of. */
  readonly apply: (change: Change) => Map<Slot, VoteNode>;
  /** Lets go of promises of slots at or below the base, and returns the slots. */
  readonly dropPromises: () => Slot[];
}

export const NO_CHANGE: Change = {
  promise: ballotNone,
  commitPoint: 0 as Slot,
  base: 0 as Slot,
  configuration: null,
  slotPromises: new Map(),
  votes: new Map(),
};

export function createContents(initial: MetaNodes): Contents {
  let meta = initial;
  let bytes = 0;
  const votes = new Map<Slot, VoteNode>();
  const promises = new Map<Slot, Ballot>();

  const drop = (slot: Slot, replaced: Map<Slot, VoteNode>): void => {
    const vote = votes.get(slot);
    if (vote === undefined) return;
    replaced.set(slot, vote);
    votes.delete(slot);
    bytes -= SLOT_BYTES + vote.bytes;
  };

  return {
    meta: () => meta,
    get: (slot) => votes.get(slot) ?? null,
    slotPromise: (slot) => promises.get(slot) ?? null,
    promisedSlots: () => [...promises.keys()].sort((a, b) => a - b),
    slots: () => [...votes.keys()].sort((a, b) => a - b),
    bytes: () => bytes,
    apply(change) {
      const before = meta.base;
      meta = raised(meta, change);
      const replaced = new Map<Slot, VoteNode>();
      for (const [slot, ballot] of change.slotPromises) {
        if (slot > meta.base) promises.set(slot, higherBallot(promises.get(slot) ?? ballot, ballot));
      }
      for (const slot of slotsBetween(before, meta.base, votes)) drop(slot, replaced);
      for (const [slot, vote] of change.votes) {
        if (slot <= meta.base) continue;
        drop(slot, replaced);
        votes.set(slot, vote);
        bytes += SLOT_BYTES + vote.bytes;
      }
      return replaced;
    },
    dropPromises() {
      const gone = [...promises.keys()].filter((slot) => slot <= meta.base);
      for (const slot of gone) promises.delete(slot);
      return gone;
    },
  };
}

/** Slots of `votes` in (from, to]; a base may rise by more than could be counted through. */
function slotsBetween(from: Slot, to: Slot, votes: ReadonlyMap<Slot, VoteNode>): Slot[] {
  if (to - from > votes.size) return [...votes.keys()].filter((slot) => slot <= to);
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => (from + i + 1) as Slot);
}

export function raised(meta: MetaNodes, change: Omit<Change, 'votes' | 'slotPromises'>): MetaNodes {
  const { configuration } = change;
  const base = higherSlot(meta.base, change.base);
  return {
    promise: higherBallot(meta.promise, change.promise),
    commitPoint: higherSlot(higherSlot(meta.commitPoint, change.commitPoint), base),
    base,
    configuration:
      configuration !== null && configuration.version >= meta.configuration.version
        ? configuration
        : meta.configuration,
  };
}

export function isPromiseRaised(from: MetaNodes, to: MetaNodes): boolean {
  return compareBallots(to.promise, from.promise) > 0;
}

function higherSlot(a: Slot, b: Slot): Slot {
  return a > b ? a : b;
}
