/**
 * The primary at work: it orders operations, logs them and sends them to its copies (the paper's algorithm 1, lines 1 to 3), again after a time-out.
 *
 * Invariants: a copy gets operations in order; what is on its way to one copy, and what is not settled, is bounded. A copy that lags takes nothing from the others.
 */
import { entryBytes, proposalLabel } from '../multipaxos/entry.ts';
import type { Entry } from '../multipaxos/types/entries.ts';
import type { Slot } from '../multipaxos/types/names.ts';
import { epochAt, others, type Run, send, traceAction, writeBehind } from './run.ts';
import { type CopyProgress, isServing, type Leadership, replicates, type State } from './state.ts';
import type { Proposal, RefusalCode } from './types/effects.ts';
import type { SentEntry } from './types/messages.ts';

export function lead(run: Run, beginsAt: Slot): void {
  const { state } = run;
  const { nowMs, config } = state;
  const copies = others(state).map((id) => ({
    id,
    received: 0 as Slot,
    executed: 0 as Slot,
    nextSlot: beginsAt,
    behind: (beginsAt - 1) as Slot,
    sentAtMs: Number.NEGATIVE_INFINITY,
    resentAtMs: nowMs,
    heardAtMs: nowMs,
    gainedAtMs: nowMs,
    isWaitedFor: !config.dropSilentCopies,
    needsCopy: false,
    transferToldAtMs: Number.NEGATIVE_INFINITY,
  }));
  state.leadership = {
    epoch: state.promised,
    beginsAt,
    copies,
    waiting: new Map(),
    labels: new Set(),
    acknowledgedTo: 0 as Slot,
    queue: [],
    queueBytes: 0,
    pausedUntilMs: null,
    pauseTold: false,
  };
  sendToCopies(run);
}

/** Each is answered by `proposed` or `refused`; while the primary pauses it waits. */
export function propose(run: Run, proposals: readonly Proposal[]): void {
  const { state } = run;
  const { leadership } = state;
  for (const each of proposals) {
    const code = refusalOf(state, each);
    if (code !== null) run.effects.push({ kind: 'refused', proposal: each.proposal, code });
    else if (leadership !== null && leadership.pausedUntilMs !== null) {
      leadership.labels.add(proposalLabel(each.proposal));
      leadership.queue.push(each);
      leadership.queueBytes += each.payload.byteLength;
    } else logOperation(run, each);
  }
  sendToCopies(run);
}

function refusalOf(state: State, { proposal, payload, level }: Proposal): RefusalCode | null {
  const { leadership, config } = state;
  if (leadership === null) return 'notLeader';
  if (!isServing(state)) return 'alone';
  if (level !== undefined && (level === 'none') === replicates(config)) return 'levelNotOffered';
  if (leadership.labels.has(proposalLabel(proposal))) return 'duplicate';
  const slots = state.lastSlot - state.settled + leadership.queue.length;
  const isFull = Math.max(slots, leadership.waiting.size + leadership.queue.length) >= config.windowSlotsMax;
  const bytes = unsettledBytes(state) + leadership.queueBytes + payload.byteLength;
  return isFull || (slots > 0 && bytes > config.windowBytesMax) ? 'windowFull' : null;
}

function unsettledBytes(state: State): number {
  let bytes = 0;
  for (let slot = state.settled + 1; slot <= state.lastSlot; slot += 1)
    bytes += state.log.get(slot as Slot)?.bytes ?? 0;
  return bytes;
}

export function logOperation(run: Run, { proposal, payload, level }: Proposal): void {
  const { state } = run;
  const { leadership, config } = state;
  if (leadership === null) return;
  const slot = (state.lastSlot + 1) as Slot;
  const entry: Entry = { kind: 'command', group: config.group, proposal, payload };
  writeBehind(run, state.lastSlot, [{ slot, ballot: leadership.epoch, entry }]);
  state.matched = slot;
  leadership.labels.add(proposalLabel(proposal));
  leadership.waiting.set(slot, { proposal, slot, level: level ?? config.replication, sinceMs: state.nowMs });
  run.effects.push({ kind: 'proposed', proposal, slot });
  traceAction(run, 'LogOperation', leadership.epoch, { slot, label: proposalLabel(proposal) });
}

export function sendToCopies(run: Run): void {
  const { leadership, config } = run.state;
  if (leadership === null || !replicates(config)) return;
  for (const copy of leadership.copies) while (sendOperations(run, leadership, copy, false));
}

/** Signs of life, and what was not answered again. */
export function tickCopies(run: Run): void {
  const { state } = run;
  const { leadership, config, nowMs } = state;
  if (leadership === null || !replicates(config)) return;
  for (const copy of leadership.copies) {
    const isOwed = copy.nextSlot > copy.behind + 1;
    if (isOwed && nowMs - Math.max(copy.gainedAtMs, copy.resentAtMs) >= config.retransmitMs)
      goOnBehind(run.state, copy, copy.behind);
    while (sendOperations(run, leadership, copy, false));
    if (nowMs - copy.sentAtMs >= config.heartbeatMs) sendOperations(run, leadership, copy, true);
  }
}

/** What comes behind `slot` is sent, again if it was. */
export function goOnBehind(state: State, copy: CopyProgress, slot: Slot): void {
  copy.behind = slot;
  copy.nextSlot = (slot + 1) as Slot;
  copy.resentAtMs = state.nowMs;
}

/** @returns whether something was sent */
export function sendOperations(
  run: Run,
  leadership: Leadership,
  copy: CopyProgress,
  isSignOfLife: boolean,
): boolean {
  const { state } = run;
  const { config, nowMs } = state;
  const isPurged = copy.nextSlot <= state.base;
  const entries: SentEntry[] = [];
  const first = isPurged ? ((state.base + 1) as Slot) : copy.nextSlot;
  if (!isPurged && !isSignOfLife) {
    let bytes = 0;
    for (
      let slot: number = first;
      slot <= state.lastSlot && slot - copy.behind <= config.windowSlotsMax;
      slot += 1
    ) {
      const { ballot, entry } = state.log.get(slot as Slot)!;
      bytes += entryBytes(entry);
      if (entries.length > 0 && bytes > config.batchBytesMax) break;
      entries.push({ epoch: ballot, entry });
    }
    if (entries.length === 0) return false;
  }
  const prevSlot = (entries.length === 0 ? Math.max(copy.received, state.base) : first - 1) as Slot;
  copy.nextSlot = (copy.nextSlot + entries.length) as Slot;
  copy.sentAtMs = nowMs;
  send(run, copy.id, {
    kind: 'Operations',
    group: config.group,
    epoch: leadership.epoch,
    prevSlot,
    prevEpoch: epochAt(state, prevSlot),
    entries,
    beginsAt: leadership.beginsAt,
    settled: state.settled,
    isStandby: copy.isWaitedFor && copy.received >= Math.max(leadership.acknowledgedTo, leadership.beginsAt),
    sentAtMs: nowMs,
  });
  return entries.length > 0;
}
