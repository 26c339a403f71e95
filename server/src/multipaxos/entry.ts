/**
 * Log entries: their names and their weight against the bounds.
 *
 * Responsible for: what tells one entry from another. Knows nothing of what a command's payload means.
 */
import { ballotLabel } from './ballot.ts';
import type { Entry } from './types/entries.ts';
import type { EntryLabel, ProposalId } from './types/names.ts';

/** What an entry weighs beside its payload: the object, its slot and its vote. */
const entryOverheadBytes = 64;
/** What a member of a configuration weighs: its names, its nonce and its address. */
const memberBytes = 256;

/** Unique to the entry: equal labels mean equal entries. */
export function entryLabel(entry: Entry): EntryLabel {
  switch (entry.kind) {
    case 'noop':
      return 'noop';
    case 'leaderStart':
      return `start:${ballotLabel(entry.ballot)}`;
    case 'configuration':
      return `members:${entry.version}:${ballotLabel(entry.ballot)}`;
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
  if (entry.kind === 'command') return entryOverheadBytes + entry.payload.byteLength;
  if (entry.kind === 'configuration') return entryOverheadBytes + memberBytes * entry.members.length;
  return entryOverheadBytes;
}
