/**
 * Where things stand in ZooKeeper, and what the nodes hold. Pure: names and bytes.
 *
 *   <root>/paxos/<replica>/                  the acceptor's state
 *       identity        whose log it is; its being there is what makes it a log
 *       promise, commitPoint, base, configuration
 *       writer          who may write, and how many groups have been written: each group goes in with the next turn, or not at all
 *       lock            ephemeral: somebody has the log open
 *       <slot>          the vote: ballot (null: learnt as chosen), and length and checksum of the entry
 *   <root>/sqlpaxos/<replica>/               the write-ahead log proper: what was voted for
 *       <slot>          the entry
 *       <slot>-<tag>-<n>   a piece of an entry that is too large for one node, or that came with too much else for one request
 *
 * Nodes hold JSON, for people to read, except for entries, which are bytes.
 */
import { crc32 } from 'node:zlib';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { Ballot, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogIdentity } from '../../ports/log-store.ts';

export const FORMAT_VERSION = 1;
const PADDED_BYTES = 80;

export interface LogPaths {
  readonly root: string;
  /** Parents of all replicas' logs. */
  readonly parents: readonly string[];
  readonly paxos: string;
  readonly sqlpaxos: string;
  readonly identity: string;
  readonly promise: string;
  readonly commitPoint: string;
  readonly base: string;
  readonly configuration: string;
  readonly writer: string;
  readonly lock: string;
  readonly vote: (slot: Slot) => string;
  readonly slotPromise: (slot: Slot) => string;
  readonly entry: (slot: Slot) => string;
  readonly piece: (slot: Slot, tag: string, n: number) => string;
}

/** @throws RangeError if `root` is no path or `replica` no name of a node */
export function logPaths(root: string, replica: ReplicaId): LogPaths {
  if (!/^(\/[^/\0]+)+$/.test(root)) throw new RangeError(`"${root}" is not a path such as /barista`);
  if (!/^[^/\0]+$/.test(replica) || replica === '.' || replica === '..')
    throw new RangeError(`"${replica}" cannot name a node`);
  const parts = root.slice(1).split('/');
  const roots = parts.map((_, i) => `/${parts.slice(0, i + 1).join('/')}`);
  const paxos = `${root}/paxos/${replica}`;
  const sqlpaxos = `${root}/sqlpaxos/${replica}`;
  return {
    root,
    parents: [...roots, `${root}/paxos`, `${root}/sqlpaxos`],
    paxos,
    sqlpaxos,
    identity: `${paxos}/identity`,
    promise: `${paxos}/promise`,
    commitPoint: `${paxos}/commitPoint`,
    base: `${paxos}/base`,
    configuration: `${paxos}/configuration`,
    writer: `${paxos}/writer`,
    lock: `${paxos}/lock`,
    vote: (slot) => `${paxos}/${slot}`,
    slotPromise: (slot) => `${paxos}/promise-${slot}`,
    entry: (slot) => `${sqlpaxos}/${slot}`,
    piece: (slot, tag, n) => `${sqlpaxos}/${slot}-${tag}-${n}`,
  };
}

/** The slot of a vote's or an entry's node, or null if it is another's. */
export function slotOfName(name: string): Slot | null {
  return /^[1-9]\d{0,15}$/.test(name) ? (Number(name) as Slot) : null;
}

/** The slot of a slot's promise, or null if the node is another. */
export function slotOfPromise(name: string): Slot | null {
  return name.startsWith('promise-') ? slotOfName(name.slice('promise-'.length)) : null;
}

export interface PieceName {
  readonly slot: Slot;
  readonly tag: string;
  readonly n: number;
}

export function pieceOfName(name: string): PieceName | null {
  const match = /^(\d{1,16})-([0-9a-z]+)-(\d{1,9})$/.exec(name);
  if (match === null) return null;
  return { slot: Number(match[1]) as Slot, tag: match[2] as string, n: Number(match[3]) };
}

/** What a vote's node says of the slot. */
export interface VoteNode {
  /** Null: learnt as chosen. */
  readonly ballot: Ballot | null;
  readonly bytes: number;
  readonly checksum: number;
  /** Null: the entry is in one node. */
  readonly pieces: { readonly tag: string; readonly count: number } | null;
}

export interface IdentityNode {
  readonly version: number;
  readonly group: string;
  readonly identity: LogIdentity;
}

export interface WriterNode {
  /** Drawn by each opening. */
  readonly owner: string;
  /** Groups that it has written. */
  readonly sequence: number;
}

export interface MetaNodes {
  readonly promise: Ballot;
  readonly commitPoint: Slot;
  readonly base: Slot;
  readonly configuration: Configuration;
}

export function toJson(
  value: VoteNode | IdentityNode | WriterNode | MetaNodes[keyof MetaNodes] | object,
): Uint8Array {
  return Buffer.from(JSON.stringify(value), 'utf8');
}

export function fromJson(data: Uint8Array): unknown {
  return JSON.parse(Buffer.from(data).toString('utf8'));
}

/** As toJson, always of one size, so that writing it again never needs more space: a full ZooKeeper can be purged. */
export function toPaddedJson(value: WriterNode | Slot): Uint8Array {
  return Buffer.from(JSON.stringify(value).padEnd(PADDED_BYTES), 'utf8');
}

/** Covers the slot, so that an entry is never taken for another slot's. */
export function entryChecksum(slot: Slot, entry: Uint8Array): number {
  return crc32(entry, crc32(String(slot)));
}
