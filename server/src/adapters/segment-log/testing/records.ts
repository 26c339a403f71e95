/** Records for tests that run outside of the test runner. */
import { ballotNone } from '../../../multipaxos/ballot.ts';
import type { Entry } from '../../../multipaxos/types/entries.ts';
import type { GroupId, ReplicaId, Slot } from '../../../multipaxos/types/names.ts';
import type { LogRecord } from '../../../multipaxos/types/records.ts';
import type { NewLog } from '../../../ports/log-store.ts';

export const group = 'g1' as GroupId;

export function commandOf(request: number, payload: Uint8Array): Entry {
  return { kind: 'command', group, proposal: { client: 'client', request }, payload };
}

export function voteOf(slot: number, round = 1, entry: Entry = { kind: 'noop', group }): LogRecord {
  return { kind: 'vote', slot: slot as Slot, ballot: { round, replica: 'r1' as ReplicaId }, entry };
}

export const newLog: NewLog = {
  identity: { cluster: 'c1', member: 'r1' as ReplicaId },
  configuration: { version: 1, slot: 0 as Slot, members: [] },
  base: 0 as Slot,
  promised: ballotNone,
};
