/**
 * Turns units into one multi: the ops, the pieces that must be there before, and what they change. Pure.
 */
import { compareBallots, higherBallot } from '../../multipaxos/ballot.ts';
import type { Ballot, Slot } from '../../multipaxos/types/names.ts';
import { ANY_VERSION, type WriteOp } from './client/protocol.ts';
import { NO_CHANGE, isPromiseRaised, raised, type Change } from './contents.ts';
import { toJson, toPaddedJson, type LogPaths, type MetaNodes, type VoteNode } from './layout.ts';
import { REQUEST_BYTES_MAX, pieceCount, type Unit, type UnitEntry } from './units.ts';

export interface Piece {
  readonly path: string;
  readonly data: Uint8Array;
}

export interface Group {
  readonly change: Change;
  readonly ops: readonly WriteOp[];
  readonly pieces: readonly Piece[];
  /** What all will be once it is written. */
  readonly meta: MetaNodes;
}

export interface GroupBasis {
  readonly paths: LogPaths;
  /** As they will be when all groups before this one are written. */
  readonly meta: MetaNodes;
  readonly vote: (slot: Slot) => VoteNode | null;
  readonly slotPromise: (slot: Slot) => Ballot | null;
  /** Names this group's pieces; never used before. */
  readonly tag: string;
}

export function buildGroup(units: readonly Unit[], basis: GroupBasis): Group {
  const { paths } = basis;
  let meta = basis.meta;
  const entries = new Map<Slot, UnitEntry>();
  const slotPromises = new Map<Slot, Ballot>();
  for (const unit of units) {
    meta = raised(meta, unit);
    for (const [slot, entry] of unit.entries) entries.set(slot, entry);
    for (const [slot, ballot] of unit.slotPromises)
      slotPromises.set(slot, higherBallot(slotPromises.get(slot) ?? ballot, ballot));
  }
  const ops: WriteOp[] = metaOps(paths, basis.meta, meta);
  const pieces: Piece[] = [];
  const votes = new Map<Slot, VoteNode>();
  for (const [slot, entry] of entries) {
    // What the base covers is not kept.
    if (slot <= meta.base) continue;
    const { ballot, checksum, data } = entry;
    const count = pieceCount(data);
    const vote = {
      ballot,
      bytes: data.length,
      checksum,
      pieces: entry.inPieces ? { tag: basis.tag, count } : null,
    };
    votes.set(slot, vote);
    if (entry.inPieces) pieces.push(...piecesOf(paths, slot, basis.tag, data));
    ops.push(...voteOps(paths, slot, vote, data, basis.vote(slot)));
  }
  for (const [slot, ballot] of slotPromises) {
    const before = basis.slotPromise(slot);
    const isNews = before === null || compareBallots(ballot, before) > 0;
    if (slot > meta.base && isNews) ops.push(put(paths.slotPromise(slot), toJson(ballot), before !== null));
    else slotPromises.delete(slot);
  }
  // Without one of its pieces nothing of a group takes effect.
  for (const { path } of pieces) ops.push({ kind: 'check', path, version: ANY_VERSION });
  const { promise, commitPoint, base, configuration } = meta;
  return {
    change: { ...NO_CHANGE, promise, commitPoint, base, configuration, slotPromises, votes },
    ops,
    pieces,
    meta,
  };
}

function metaOps(paths: LogPaths, from: MetaNodes, to: MetaNodes): WriteOp[] {
  const ops: WriteOp[] = [];
  const set = (path: string, data: Uint8Array): void => {
    ops.push({ kind: 'set', path, data, version: ANY_VERSION });
  };
  if (isPromiseRaised(from, to)) set(paths.promise, toJson(to.promise));
  if (to.commitPoint > from.commitPoint) set(paths.commitPoint, toPaddedJson(to.commitPoint));
  if (to.base > from.base) set(paths.base, toPaddedJson(to.base));
  if (to.configuration !== from.configuration) set(paths.configuration, toJson(to.configuration));
  return ops;
}

function put(path: string, data: Uint8Array, exists: boolean): WriteOp {
  return exists ? { kind: 'set', path, data, version: ANY_VERSION } : { kind: 'create', path, data };
}

function voteOps(
  paths: LogPaths,
  slot: Slot,
  vote: VoteNode,
  data: Uint8Array,
  before: VoteNode | null,
): WriteOp[] {
  const hasEntryNode = before !== null && before.pieces === null;
  const ops = [put(paths.vote(slot), toJson(vote), before !== null)];
  if (vote.pieces === null) ops.push(put(paths.entry(slot), data, hasEntryNode));
  else if (hasEntryNode) ops.push({ kind: 'delete', path: paths.entry(slot), version: ANY_VERSION });
  return ops;
}

function piecesOf(paths: LogPaths, slot: Slot, tag: string, data: Uint8Array): Piece[] {
  return Array.from({ length: pieceCount(data) }, (_, n) => ({
    path: paths.piece(slot, tag, n),
    data: data.subarray(n * REQUEST_BYTES_MAX, (n + 1) * REQUEST_BYTES_MAX),
  }));
}

/** The nodes of an entry, besides its vote's. */
export function entryPaths(paths: LogPaths, slot: Slot, { pieces }: VoteNode): string[] {
  if (pieces === null) return [paths.entry(slot)];
  return Array.from({ length: pieces.count }, (_, n) => paths.piece(slot, pieces.tag, n));
}
