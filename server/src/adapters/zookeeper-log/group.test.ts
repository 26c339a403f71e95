import { describe, expect, it } from 'vitest';
import type { Ballot, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import {
  ballotOf,
  commandOf,
  configurationOf,
  slotOf,
  voteOf,
} from '../../ports/testing/log-store-contract.ts';
import { opBytes } from './client/protocol.ts';
import { buildGroup, type Group } from './group.ts';
import { fromJson, logPaths, type MetaNodes, type VoteNode } from './layout.ts';
import { REQUEST_BYTES_MAX, unitsOf } from './units.ts';

const paths = logPaths('/barista', 'r2' as ReplicaId);
const meta: MetaNodes = {
  promise: ballotOf(4),
  commitPoint: slotOf(3),
  base: slotOf(2),
  configuration: configurationOf(2),
};
const inOneNode: VoteNode = { ballot: ballotOf(1), bytes: 9, checksum: 1, pieces: null };
const inPieces: VoteNode = { ...inOneNode, pieces: { tag: 'old', count: 2 } };
const large = new Uint8Array(REQUEST_BYTES_MAX + 1);

function groupOf(
  records: readonly LogRecord[],
  before: ReadonlyMap<Slot, VoteNode> = new Map(),
  promised: ReadonlyMap<Slot, Ballot> = new Map(),
): Group {
  const vote = (slot: Slot): VoteNode | null => before.get(slot) ?? null;
  const slotPromise = (slot: Slot): Ballot | null => promised.get(slot) ?? null;
  return buildGroup(unitsOf(records), { paths, meta, vote, slotPromise, tag: 'a0x1' });
}

const opsOf = (group: Group): string[] => group.ops.map(({ kind, path }) => `${kind} ${path}`);
const at = (slot: number, vote: VoteNode) => new Map([[slotOf(slot), vote]]);

describe('a group', () => {
  it('has the highest promise of a slot, unless there is a higher one or the slot is below the base', () => {
    const promise = (slot: number, round: number): LogRecord => ({
      kind: 'slotPromise',
      slot: slotOf(slot),
      ballot: ballotOf(round),
    });
    const twice = [promise(5, 3), promise(5, 2), promise(2, 9)];
    const group = groupOf(twice);
    expect(opsOf(group)).toEqual(['create /barista/paxos/r2/promise-5']);
    expect([...group.change.slotPromises]).toEqual([[5, ballotOf(3)]]);
    expect(opsOf(groupOf(twice, new Map(), new Map([[slotOf(5), ballotOf(1)]])))).toEqual([
      'set /barista/paxos/r2/promise-5',
    ]);
    expect(groupOf(twice, new Map(), new Map([[slotOf(5), ballotOf(4)]]))).toMatchObject({ ops: [], meta });
  });

  it('makes a node for the vote and one for the entry, or writes into those that are there', () => {
    expect(opsOf(groupOf([voteOf(5)]))).toEqual([
      'create /barista/paxos/r2/5',
      'create /barista/sqlpaxos/r2/5',
    ]);
    expect(opsOf(groupOf([voteOf(5)], at(5, inOneNode)))).toEqual([
      'set /barista/paxos/r2/5',
      'set /barista/sqlpaxos/r2/5',
    ]);
    expect(opsOf(groupOf([voteOf(5)], at(5, inPieces)))).toEqual([
      'set /barista/paxos/r2/5',
      'create /barista/sqlpaxos/r2/5',
    ]);
  });

  it('takes no effect without every piece of its entries', () => {
    const group = groupOf([voteOf(5, 1, commandOf(5, large))], at(5, inOneNode));
    expect(group.pieces.map(({ path }) => path)).toEqual([
      '/barista/sqlpaxos/r2/5-a0x1-0',
      '/barista/sqlpaxos/r2/5-a0x1-1',
    ]);
    expect(opsOf(group)).toEqual([
      'set /barista/paxos/r2/5',
      'delete /barista/sqlpaxos/r2/5',
      'check /barista/sqlpaxos/r2/5-a0x1-0',
      'check /barista/sqlpaxos/r2/5-a0x1-1',
    ]);
    expect(group.change.votes.get(slotOf(5))?.pieces).toEqual({ tag: 'a0x1', count: 2 });
  });

  it('writes the promise, commit point, base and configuration only where they rise', () => {
    const low: LogRecord[] = [
      { kind: 'promise', ballot: ballotOf(4) },
      { kind: 'commitPoint', slot: slotOf(3) },
      { kind: 'configuration', configuration: configurationOf(1) },
      { kind: 'base', slot: slotOf(1), configuration: configurationOf(1) },
    ];
    expect(opsOf(groupOf(low))).toEqual([]);
    const high = groupOf([
      voteOf(1, 9),
      { kind: 'commitPoint', slot: slotOf(4) },
      { kind: 'base', slot: slotOf(8), configuration: configurationOf(3) },
    ]);
    expect(high.ops.map((op) => ('data' in op ? [op.path, fromJson(op.data)] : op))).toEqual([
      ['/barista/paxos/r2/promise', ballotOf(9)],
      ['/barista/paxos/r2/commitPoint', 8],
      ['/barista/paxos/r2/base', 8],
      ['/barista/paxos/r2/configuration', configurationOf(3)],
    ]);
  });

  it('keeps of several votes of a slot the last, and none at or below the base', () => {
    const group = groupOf([voteOf(2), voteOf(6, 7), voteOf(6, 3)]);
    expect([...group.change.votes].map(([slot, { ballot }]) => [slot, ballot])).toEqual([[6, ballotOf(3)]]);
    expect(group.meta.promise).toEqual(ballotOf(7));
  });

  it('fits a request of 1 MiB with its pieces, whatever it is made of', () => {
    const appends: LogRecord[][] = [
      Array.from({ length: 1024 }, (_, i) => voteOf(i + 10)),
      Array.from({ length: 1024 }, (_, i) => voteOf(i + 10, 1, commandOf(i, new Uint8Array(9000)))),
      Array.from({ length: 700 }, (_, i) => voteOf(i + 10, 1, commandOf(i, new Uint8Array(255)))),
      [voteOf(10, 1, commandOf(1, new Uint8Array(30 * 2 ** 20)))],
    ];
    for (const records of appends) {
      const group = groupOf(records);
      const bytes = group.ops.reduce((sum, op) => sum + opBytes(op), 0);
      expect(bytes).toBeLessThan(1_000_000);
      for (const { path, data } of group.pieces) expect(path.length + data.length).toBeLessThan(1_000_000);
    }
  });
});

describe('names of nodes', () => {
  it('are refused where ZooKeeper would refuse them', () => {
    for (const root of ['barista', '/', '/a//b', '/a/']) {
      expect(() => logPaths(root, 'r1' as ReplicaId)).toThrow(RangeError);
    }
    for (const replica of ['', 'a/b', '..'])
      expect(() => logPaths('/b', replica as ReplicaId)).toThrow(RangeError);
    expect(logPaths('/a/b', 'r1' as ReplicaId).parents).toEqual([
      '/a',
      '/a/b',
      '/a/b/paxos',
      '/a/b/sqlpaxos',
    ]);
  });
});
