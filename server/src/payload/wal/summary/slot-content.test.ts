import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../multipaxos/types/entries.ts';
import type { GroupId, ReplicaId } from '../../../multipaxos/types/names.ts';
import { parseLsn, type Timeline } from '../../../wal/lsn.ts';
import { readGolden } from '../../../wal/record/testing/golden.ts';
import { encodeLeadership, encodeRange, encodeVerify } from '../wal-entry.ts';
import { slotContent } from './slot-content.ts';

const group = 'main' as GroupId;
const leadership = { round: 4, replica: 'r3' as ReplicaId };
const timeline = 5 as Timeline;

function command(payload: Uint8Array): Entry {
  return { kind: 'command', group, proposal: { client: 'r3', request: 1 }, payload };
}

describe('what a slot holds', () => {
  it('is WAL', () => {
    const { start, bytes } = readGolden('postgres-18');
    const range = encodeRange({ leadership, timeline, start }, [
      bytes.subarray(0, 20_000),
      bytes.subarray(20_000, 30_000),
    ]);
    const content = slotContent(command(range));
    expect(content).toMatchObject({ kind: 'range', leadership, timeline, bytes: 30_000, fault: null });
  });

  it('is the beginning of a leadership', () => {
    const fork = parseLsn('1/C0FFEE0');
    const entry = { leadership, timeline, fork, nextXid: 2n ** 33n, resumes: true, system: 7n };
    const content = {
      kind: 'leadership',
      leadership,
      timeline,
      fork: '1/C0FFEE0',
      nextXid: '8589934592',
      resumes: true,
    };
    expect(slotContent(command(encodeLeadership(entry)))).toEqual(content);
  });

  it('is a comparison, or nothing for a database', () => {
    expect(slotContent(command(encodeVerify(leadership, 'check 1')))).toEqual({
      kind: 'verify',
      check: 'check 1',
    });
    expect(slotContent({ kind: 'noop', group })).toEqual({ kind: 'noop' });
    const ballot = leadership;
    expect(slotContent({ kind: 'leaderStart', group, ballot })).toEqual({ kind: 'leaderStart', ballot });
    const entry: Entry = { kind: 'configuration', group, ballot, version: 3, members: [] };
    expect(slotContent(entry)).toEqual({ kind: 'members', version: 3, members: [] });
  });

  it('may be of another version, and is said to be', () => {
    expect(slotContent(command(Uint8Array.of(9, 1, 0, 0, 0, 0, 0, 1, 1, 65)))).toEqual({
      kind: 'unreadable',
      reason: 'an entry is of the unknown kind 9',
    });
  });
});
