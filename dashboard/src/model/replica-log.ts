/**
 * One replica's log as its events tell it: which slots it has voted for, which it knows as chosen, which are applied.
 *
 * Does not know other replicas. Keeps: at most `votesMax` votes (the latest written), `above` holds only slots above the
 * application pointer, a new run of the replica's process starts from what that run reports, and a new incarnation has no votes.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ReplicaStatus } from '../../../server/src/api/status.ts';
import type { Ballot, EntryLabel } from '../../../server/src/multipaxos/types.ts';

export const votesMax = 4096;
const aboveMax = 4096;

/** `ballot` is null for an entry learnt as chosen without a vote. */
export interface SlotVote {
  readonly ballot: Ballot | null;
  readonly label: EntryLabel;
}

export interface ReplicaLog {
  readonly run: string | null;
  /** Whose votes these are: another incarnation begins with none. */
  readonly incarnation: string | null;
  readonly lastSeq: number;
  /** Events of this run that never arrived, by the gaps in `seq`. */
  readonly missed: number;
  readonly commitPoint: number;
  readonly applicationPointer: number;
  readonly above: ReadonlySet<number>;
  readonly lastSlot: number;
  readonly votes: ReadonlyMap<number, SlotVote>;
  /** From this slot on the page has seen every vote; below it an accepted slot may be missing from `votes`. Null: not known yet. */
  readonly votesFrom: number | null;
}

export type CellKind = 'empty' | 'accepted' | 'chosen' | 'applied';

export interface Cell {
  readonly kind: CellKind;
  readonly vote: SlotVote | null;
}

export const emptyLog: ReplicaLog = {
  run: null,
  incarnation: null,
  lastSeq: 0,
  missed: 0,
  commitPoint: 0,
  applicationPointer: 0,
  above: new Set(),
  lastSlot: 0,
  votes: new Map(),
  votesFrom: null,
};

interface Draft {
  run: string | null;
  incarnation: string | null;
  lastSeq: number;
  missed: number;
  commitPoint: number;
  applicationPointer: number;
  above: Set<number>;
  lastSlot: number;
  votes: Map<number, SlotVote>;
  votesFrom: number | null;
}

/** `events` are all of one replica, in order, and none that the log has seen. */
export function foldReplicaLog(log: ReplicaLog, events: readonly TraceEvent[]): ReplicaLog {
  const draft: Draft = { ...log, above: new Set(log.above), votes: new Map(log.votes) };
  for (const event of events) apply(draft, event);
  while (draft.votes.size > votesMax) draft.votes.delete(draft.votes.keys().next().value!);
  while (draft.above.size > aboveMax) draft.above.delete(draft.above.values().next().value!);
  return draft;
}

function apply(draft: Draft, event: TraceEvent): void {
  countSeq(draft, event);
  if (draft.incarnation !== event.replica) {
    draft.votes.clear();
    draft.incarnation = event.replica;
  }
  if (event.layer === 'consensus') {
    for (const [slot, ballot, label] of event.votes ?? []) writeVote(draft, slot, { ballot, label });
    draft.commitPoint = event.state.commitPoint;
    draft.lastSlot = event.state.lastSlot;
    draft.votesFrom ??= draft.lastSlot + 1;
    return;
  }
  if (event.layer === 'operation') return;
  switch (event.name) {
    case 'CommitChosen':
      if (event.slot > draft.applicationPointer) draft.above.add(event.slot);
      return;
    case 'MovePointer':
      return movePointer(draft, event.applicationPointer);
    case 'ApplyBatch':
      return movePointer(draft, Math.max(draft.applicationPointer, event.toSlot));
    case 'DatabaseUp':
      // PostgreSQL may have come back with less than it had: asynchronous commits that a crash took.
      draft.above = new Set(event.above);
      return movePointer(draft, event.applicationPointer);
    case 'Harvest':
    case 'FlushDatabase':
    case 'AbortTransaction':
    case 'DatabaseDown':
      return;
  }
}

function countSeq(draft: Draft, event: TraceEvent): void {
  if (draft.run === event.run) {
    const gap = event.seq - draft.lastSeq - 1;
    draft.missed += gap;
    if (gap > 0) draft.votesFrom = null;
  } else {
    draft.missed = 0;
    draft.commitPoint = 0;
    draft.lastSlot = 0;
    draft.applicationPointer = 0;
    draft.above.clear();
    // A run tells what it found in its log, so one that is seen from its first event hides no vote.
    draft.votesFrom = event.seq === 1 ? 0 : null;
  }
  draft.run = event.run;
  draft.lastSeq = event.seq;
}

/** The last one written is the last in the map's order, which is the order in which votes are forgotten. */
function writeVote(draft: Draft, slot: number, vote: SlotVote): void {
  draft.votes.delete(slot);
  draft.votes.set(slot, vote);
}

function movePointer(draft: Draft, applicationPointer: number): void {
  draft.applicationPointer = applicationPointer;
  for (const slot of draft.above) if (slot <= applicationPointer) draft.above.delete(slot);
}

export interface LogPointers {
  readonly commitPoint: number;
  readonly applicationPointer: number;
  readonly lastSlot: number;
}

/**
 * Where the replica stands, from its events and its last status, whichever saw more. Events are fresher, but the page may have been
 * opened after most of them.
 */
export function pointersOf(log: ReplicaLog, status: ReplicaStatus | null): LogPointers {
  const commitPoint = Math.max(log.commitPoint, status?.commitPoint ?? 0);
  const applicationPointer = Math.max(log.applicationPointer, status?.applicationPointer ?? 0);
  const lastSlot = Math.max(log.lastSlot, status?.lastSlot ?? 0, commitPoint);
  return { commitPoint, applicationPointer, lastSlot };
}

export function cellAt(log: ReplicaLog, pointers: LogPointers, slot: number): Cell {
  const vote = log.votes.get(slot) ?? null;
  if (slot <= pointers.applicationPointer || log.above.has(slot)) return { kind: 'applied', vote };
  if (slot <= pointers.commitPoint || vote?.ballot === null) return { kind: 'chosen', vote };
  const unseen = log.votesFrom === null || slot < log.votesFrom;
  if (vote !== null || (unseen && slot <= pointers.lastSlot)) return { kind: 'accepted', vote };
  return { kind: 'empty', vote: null };
}
