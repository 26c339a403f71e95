/** Records for tests that run outside of the test runner. */
import type { Entry, GroupId, LogRecord, ReplicaId, Slot } from '../../../multipaxos/types.ts';

export const group = 'g1' as GroupId;

export function commandOf(request: number, payload: Uint8Array): Entry {
  return { kind: 'command', group, proposal: { client: 'client', request }, payload };
}

export function voteOf(slot: number, round = 1, entry: Entry = { kind: 'noop', group }): LogRecord {
  return { kind: 'vote', slot: slot as Slot, ballot: { round, replica: 'r1' as ReplicaId }, entry };
}
