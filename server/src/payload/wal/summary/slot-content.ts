/** What an entry of the log holds, for people. Pure. */
import type { SlotContent } from '../../../api/wal-summary.ts';
import type { Entry } from '../../../multipaxos/types/entries.ts';
import { formatLsn } from '../../../wal/lsn.ts';
import { decodeWalEntry, WalEntryError, type WalEntry } from '../wal-entry.ts';
import { summarizeRange } from './summarize-range.ts';

export function slotContent(entry: Entry): SlotContent {
  switch (entry.kind) {
    case 'noop':
      return { kind: 'noop' };
    case 'leaderStart':
      return { kind: 'leaderStart', ballot: entry.ballot };
    case 'configuration':
      return {
        kind: 'members',
        version: entry.version,
        members: entry.members.map(({ replica }) => replica),
      };
    case 'command':
      return commandContent(entry.payload);
    default:
      return entry satisfies never;
  }
}

function commandContent(payload: Uint8Array): SlotContent {
  let command: WalEntry;
  try {
    command = decodeWalEntry(payload);
  } catch (error) {
    if (!(error instanceof WalEntryError)) throw error;
    return { kind: 'unreadable', reason: error.message };
  }
  switch (command.kind) {
    case 'range':
      return summarizeRange(command);
    case 'leadership': {
      const { leadership, timeline, fork, nextXid, resumes } = command;
      return {
        kind: 'leadership',
        leadership,
        timeline,
        fork: formatLsn(fork),
        nextXid: String(nextXid),
        resumes,
      };
    }
    case 'verify':
      return { kind: 'verify', check: command.check };
    default:
      return command satisfies never;
  }
}
