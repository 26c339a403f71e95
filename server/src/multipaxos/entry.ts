/**
 * Log entries: their names and their weight against the bounds.
 *
 * Responsible for: what tells one entry from another. Knows nothing of what a command's payload means.
 */
import { ballotLabel } from './ballot.ts';
import type { Entry, EntryLabel, ProposalId } from './types.ts';

/** What an entry weighs beside its payload: the object, its slot and its vote. */
const entryOverheadBytes = 64;

/** Unique to the entry: equal labels mean equal entries. */
export function entryLabel(entry: Entry): EntryLabel {
  switch (entry.kind) {
    case 'noop':
      return 'noop';
    case 'leaderStart':
      return `start:${ballotLabel(entry.ballot)}`;
    case 'command':
      return proposalLabel(entry.proposal);
    default:
      return entry satisfies never;
  }
}

export function proposalLabel(proposal: ProposalId): EntryLabel {
  return `${proposal.client}/${proposal.request}`;
}

export function entryBytes(entry: Entry): number {
  return entryOverheadBytes + (entry.kind === 'command' ? entry.payload.byteLength : 0);
}
