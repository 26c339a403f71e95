/**
 * One replica's log as its events tell it: which slots it has voted for, which it knows as chosen, which are applied.
 *
 * A slot is applied when the replica's PostgreSQL has come to the end of its WAL: at the leader when it is released, at a standby when it is replayed. Does not know other replicas.
 * Keeps: at most `votesMax` votes (the latest written) and `pendingMax` slots that wait to be replayed; a new run of the replica's process starts from what that run reports (nothing, until it does), and a new incarnation has no votes.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ClusterReplica, ReplicaStatus } from '../../../server/src/api/status.ts';
import type { Ballot, EntryLabel } from '../../../server/src/multipaxos/types/names.ts';

export const votesMax = 4096;
const pendingMax = 4096;

/** `ballot` is null for an entry learnt as chosen without a vote. */
export interface SlotVote {
  readonly ballot: Ballot | null;
  readonly label: EntryLabel;
}

interface PendingSlot {
  readonly slot: number;
  readonly end: number;
}

export interface ReplicaLog {
  readonly run: string | null;
  /** The process whose run this is; null: it was not told yet. */
  readonly pid: number | null;
  /** That process has ended and another one runs: nothing of this log is so any more. */
  readonly isOver: boolean;
  /** Whose votes these are: another incarnation begins with none. */
  readonly incarnation: string | null;
  readonly lastSeq: number;
  /** Events of this run that never arrived, by the gaps in `seq`. */
  readonly missed: number;
  readonly commitPoint: number;
  readonly applicationPointer: number;
  /** Chosen slots, in order, and the position that PostgreSQL must have replayed for each. */
  readonly pending: readonly PendingSlot[];
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
  pid: null,
  isOver: false,
  incarnation: null,
  lastSeq: 0,
  missed: 0,
  commitPoint: 0,
  applicationPointer: 0,
  pending: [],
  lastSlot: 0,
  votes: new Map(),
  votesFrom: null,
};

interface Draft {
  run: string | null;
  pid: number | null;
  isOver: boolean;
  incarnation: string | null;
  lastSeq: number;
  missed: number;
  commitPoint: number;
  applicationPointer: number;
  pending: PendingSlot[];
  lastSlot: number;
  votes: Map<number, SlotVote>;
  votesFrom: number | null;
  /** They are another log's as well, and copied before one is written: most of what replicas tell is no vote, and each state that is kept would have a copy of its own. */
  areVotesShared: boolean;
}

/** `events` are all of one replica, in order, and none that the log has seen. */
export function foldReplicaLog(log: ReplicaLog, events: readonly TraceEvent[]): ReplicaLog {
  const draft: Draft = {
    ...log,
    pending: [...log.pending],
    votes: log.votes as Map<number, SlotVote>,
    areVotesShared: true,
  };
  for (const event of events) apply(draft, event);
  if (draft.votes.size > votesMax) {
    const votes = ownVotes(draft);
    while (votes.size > votesMax) votes.delete(votes.keys().next().value!);
  }
  draft.pending.splice(0, draft.pending.length - pendingMax);
  const { areVotesShared: _, ...folded } = draft;
  return folded;
}

function ownVotes(draft: Draft): Map<number, SlotVote> {
  if (draft.areVotesShared) draft.votes = new Map(draft.votes);
  draft.areVotesShared = false;
  return draft.votes;
}

function apply(draft: Draft, event: TraceEvent): void {
  countSeq(draft, event);
  if (draft.isOver) return;
  if (draft.incarnation !== event.replica) {
    draft.votes = new Map();
    draft.areVotesShared = false;
    draft.incarnation = event.replica;
  }
  if (event.layer === 'consensus') {
    for (const [slot, ballot, label] of event.votes ?? []) writeVote(draft, slot, { ballot, label });
    draft.commitPoint = event.state.commitPoint;
    draft.lastSlot = event.state.lastSlot;
    draft.votesFrom ??= draft.lastSlot + 1;
    return;
  }
  if (event.layer === 'apply') applyWal(draft, event);
  if (event.name === 'SlotChosen') learn(draft, event.slot, event.label);
  if (event.name === 'ReplicaStarted') draft.pid = event.pid;
}

/** Where statements travel. What the slot was voted for in says more. */
function learn(draft: Draft, slot: number, label: EntryLabel): void {
  draft.commitPoint = Math.max(draft.commitPoint, slot);
  draft.lastSlot = Math.max(draft.lastSlot, slot);
  if (draft.votes.get(slot)?.label !== label) writeVote(draft, slot, { ballot: null, label });
}

type ApplyEvent = Extract<TraceEvent, { layer: 'apply' }>;

function applyWal(draft: Draft, event: ApplyEvent): void {
  if (event.name === 'Feed') draft.pending.push({ slot: event.slot, end: event.end });
  else if (event.name === 'Replay') replayed(draft, event.replayed);
  else if (event.name === 'BeginLeadership') fork(draft, event.slot, event.fork);
  else if (event.name === 'Release' || event.name === 'EndCopy') applied(draft, event.slot);
  else if (event.name === 'Skip') skip(draft, event.slot);
  // It may come back with less than it had: the status tells.
  else if (event.name === 'DatabaseDown' || event.name === 'DatabaseUp') draft.applicationPointer = 0;
}

function applied(draft: Draft, slot: number): void {
  draft.applicationPointer = slot;
  draft.pending = draft.pending.filter((one) => one.slot > slot);
}

/** What lay beyond the fork, part of a record, is never replayed. */
function fork(draft: Draft, slot: number, position: number): void {
  const waiting = [...draft.pending, { slot, end: position }];
  draft.pending = waiting.map((one) => ({ slot: one.slot, end: Math.min(one.end, position) }));
}

function skip(draft: Draft, slot: number): void {
  const last = draft.pending.at(-1);
  if (last === undefined) draft.applicationPointer = slot;
  else draft.pending.push({ slot, end: last.end });
}

function replayed(draft: Draft, position: number): void {
  const left = draft.pending.findIndex(({ end }) => end > position);
  const done = left === -1 ? draft.pending.length : left;
  if (done === 0) return;
  draft.applicationPointer = draft.pending[done - 1]!.slot;
  draft.pending = draft.pending.slice(done);
}

function countSeq(draft: Draft, event: TraceEvent): void {
  if (draft.run === event.run) {
    const gap = event.seq - draft.lastSeq - 1;
    draft.missed += gap;
    if (gap > 0) draft.votesFrom = null;
  } else {
    draft.pid = null;
    draft.isOver = false;
    draft.missed = 0;
    draft.commitPoint = 0;
    draft.lastSlot = 0;
    draft.applicationPointer = 0;
    draft.pending = [];
    // A run tells what it found in its log, so one that is seen from its first event hides no vote.
    draft.votesFrom = event.seq === 1 ? 0 : null;
  }
  draft.run = event.run;
  draft.lastSeq = event.seq;
}

/** The last one written is the last in the map's order, which is the order in which votes are forgotten. */
function writeVote(draft: Draft, slot: number, vote: SlotVote): void {
  const votes = ownVotes(draft);
  votes.delete(slot);
  votes.set(slot, vote);
}

/**
 * The log once a status of its replica has come. `before`: the last one that named a process, null if there was none.
 *
 * A process that is started anew may have lost its disk, and the word that it runs comes before its first events: what an earlier one told is over by then.
 */
export function meetStatus(
  log: ReplicaLog,
  { process, status }: ClusterReplica,
  before: ReplicaStatus | null,
): ReplicaLog {
  if (process === 'stopped' || log.run === null || log.isOver) return log;
  if (status === null) return log.pid !== null && log.pid === before?.pid ? over(log) : log;
  // The page was opened after the process had started: so it is known whose events these are.
  if (log.pid === null) return { ...log, pid: status.pid };
  return log.pid === status.pid ? log : over(log);
}

function over({ run, pid, lastSeq, missed, incarnation }: ReplicaLog): ReplicaLog {
  return { ...emptyLog, run, pid, lastSeq, missed, incarnation, isOver: true };
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
  if (slot <= pointers.applicationPointer) return { kind: 'applied', vote };
  if (slot <= pointers.commitPoint || vote?.ballot === null) return { kind: 'chosen', vote };
  const unseen = log.votesFrom === null || slot < log.votesFrom;
  if (vote !== null || (unseen && slot <= pointers.lastSlot)) return { kind: 'accepted', vote };
  return { kind: 'empty', vote: null };
}
