/** Messages that lead a core through actions of the spec. Pure. */
import type { Entry } from '../../../server/src/multipaxos/types/entries.ts';
import type { Configuration } from '../../../server/src/multipaxos/types/members.ts';
import type { Message } from '../../../server/src/multipaxos/types/messages.ts';
import type { Ballot, ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import {
  asNumber,
  asSequence,
  ballotOf,
  configurationOf,
  entryOf,
  replayGroup,
  replicaName,
  votesOf,
  type SpecAction,
} from './spec-view.ts';

/** What an action's parameters say, in the words of the code; what they do not say is as the core has it. */
export interface Said {
  /** Null: any peer. */
  readonly from: ReplicaId | null;
  readonly ballot: Ballot;
  readonly commitPoint: Slot;
  readonly firstSlot: Slot;
  readonly lastSlot: Slot;
  readonly configuration: Configuration;
  readonly entries: readonly Entry[];
}

export function saidBy(
  { params }: SpecAction,
  own: { readonly promised: Ballot; readonly configuration: Configuration },
): Said {
  const slot = (name: string): Slot => (params[name] === undefined ? 0 : asNumber(params[name])) as Slot;
  return {
    from: params.from === undefined ? null : replicaName(params.from),
    ballot: params.ballot === undefined ? own.promised : ballotOf(params.ballot),
    commitPoint: slot('commitPoint'),
    firstSlot: slot('firstSlot'),
    lastSlot: slot('lastSlot'),
    configuration:
      params.configuration === undefined ? own.configuration : configurationOf(params.configuration),
    entries:
      params.entries === undefined ? [] : asSequence(params.entries).map((value) => entryOf(value) as Entry),
  };
}

/** Null if the action is not the receipt of a message. */
export function messageFor({ name, params }: SpecAction, said: Said): Message | null {
  const { ballot, commitPoint, firstSlot, lastSlot, configuration, entries } = said;
  const common = { group: replayGroup, ballot };
  const none = 0 as Slot;
  switch (name) {
    case 'HandlePrepare':
      return { kind: 'Prepare', ...common, commitPoint };
    case 'HandlePromise':
      return { kind: 'Promise', ...common, commitPoint, configuration, votes: votesOf(params.votes) };
    case 'HandleAccept':
      return { kind: 'Accept', ...common, firstSlot, entries, commitPoint, sentAtMs: 0 };
    case 'HandleAccepted':
      return { kind: 'Accepted', ...common, firstSlot, lastSlot, commitPoint: none, sentAtMs: 0 };
    case 'HandleHeartbeat':
      return {
        kind: 'Heartbeat',
        ...common,
        commitPoint,
        sentAtMs: 0,
        configuration,
        globalApplicationPointer: none,
      };
    case 'HandleCatchUpReply': {
      const last = (firstSlot + entries.length - 1) as Slot;
      return {
        kind: 'CatchUpReply',
        ...common,
        firstSlot,
        entries,
        commitPoint: last,
        purgedTo: none,
        configuration,
      };
    }
    case 'HandleReject':
      return { kind: 'Reject', ...common, promised: ballotOf(params.promised) };
    // It tells who the members are, and nothing else.
    case 'LearnConfiguration':
      return { kind: 'PreVoteReply', ...common, granted: false, configuration };
    default:
      return null;
  }
}
