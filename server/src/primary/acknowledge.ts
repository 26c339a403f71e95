/**
 * When a client may be answered (the paper's algorithm 1, line 5; the levels of the other paper), and what happens at the bound.
 *
 * Invariants: whatever is acknowledged is on the primary's disk. majority: and on a majority's. semi: on the disk of every copy that is waited for, and of so many that every majority has one.
 * sync: and executed there. No client waits longer than `acknowledgeMsMax`: then a silent copy is dropped, or the client hears that nobody knows.
 */
import { sameBallot } from '../multipaxos/ballot.ts';
import { proposalLabel } from '../multipaxos/entry.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { goOnBehind, sendOperations, sendToCopies } from './leadership.ts';
import { type Run, traceAction } from './run.ts';
import {
  type CopyProgress,
  floor,
  type Leadership,
  majority,
  recentlyHeard,
  type State,
  type WaitingProposal,
} from './state.ts';
import type { Received } from './types/messages.ts';

export function handleReceived(run: Run, from: ReplicaId, message: Received): void {
  const { state } = run;
  const { leadership, nowMs } = state;
  if (leadership === null || !sameBallot(message.epoch, leadership.epoch)) return;
  const copy = leadership.copies.find(({ id }) => id === from);
  if (copy === undefined) return;
  copy.heardAtMs = Math.max(copy.heardAtMs, message.sentAtMs);
  if (message.received > copy.received || message.executed > copy.executed) copy.gainedAtMs = nowMs;
  copy.received = Math.max(copy.received, message.received) as Slot;
  copy.executed = Math.max(copy.executed, message.executed) as Slot;
  copy.behind = Math.max(copy.behind, copy.received) as Slot;
  copy.nextSlot = Math.max(copy.nextSlot, copy.received + 1) as Slot;
  copy.needsCopy = message.needsCopy;
  if (message.goOnFrom !== null) considerGoingBack(run, copy, message.goOnFrom);
  tellTransfer(run, copy);
  waitAgain(run, leadership, copy);
  while (sendOperations(run, leadership, copy, false));
}

/** Its order check failed. One failure brings about many, as what is on its way fails as well: only the first counts, and what leads further back. */
function considerGoingBack({ state }: Run, copy: CopyProgress, slot: Slot): void {
  const to = Math.max(slot, copy.received) as Slot;
  const isRepeated = state.nowMs - copy.resentAtMs < state.config.retransmitMs;
  if (to < copy.behind || (to + 1 < copy.nextSlot && !isRepeated)) goOnBehind(state, copy, to);
}

/** It cannot go on from the log: its host is told now and then, until it has a copy. */
function tellTransfer(run: Run, copy: CopyProgress): void {
  const { state } = run;
  if (!copy.needsCopy && copy.nextSlot > state.base) return;
  if (state.nowMs - copy.transferToldAtMs < state.config.acknowledgeMsMax) return;
  copy.transferToldAtMs = state.nowMs;
  run.effects.push({ kind: 'transferNeeded', to: copy.id });
}

/** A copy that has all that is acknowledged is waited for from now on. */
function waitAgain(run: Run, leadership: Leadership, copy: CopyProgress): void {
  if (copy.isWaitedFor || copy.needsCopy) return;
  if (copy.received < Math.max(leadership.acknowledgedTo, leadership.beginsAt)) return;
  copy.isWaitedFor = true;
  run.effects.push({ kind: 'waitsFor', copy: copy.id, isWaitedFor: true });
}

/** What is in so many logs, behind the epoch's beginning, stays. */
export function advanceSettled(run: Run): void {
  const { state } = run;
  const { leadership, config } = state;
  if (leadership === null) return;
  const counted = [state.durableTo, ...leadership.copies.map(({ received }) => received)].sort(
    (a, b) => b - a,
  );
  const enough = config.replication === 'none' ? state.durableTo : counted[floor(config) - 1]!;
  const settled = Math.min(enough, state.durableTo) as Slot;
  if (settled < leadership.beginsAt || settled <= state.settled) return;
  state.settled = settled;
  traceAction(run, 'AdvanceSettled', leadership.epoch, { slot: settled });
}

/** Answers all who may be answered. */
export function acknowledge(run: Run): void {
  const { leadership } = run.state;
  if (leadership === null) return;
  for (const each of leadership.waiting.values()) {
    const waited = waitedFor(run.state, leadership, each);
    if (waited === null) continue;
    const { proposal, slot, level } = each;
    leadership.waiting.delete(slot);
    leadership.labels.delete(proposalLabel(proposal));
    leadership.acknowledgedTo = Math.max(leadership.acknowledgedTo, slot) as Slot;
    traceAction(run, 'Acknowledge', leadership.epoch, { slot, level, waited });
    run.effects.push({ kind: 'acknowledged', proposal, slot, level });
  }
}

/** Whom it has waited for; null: it waits. */
function waitedFor(
  state: State,
  leadership: Leadership,
  { slot, level }: WaitingProposal,
): readonly ReplicaId[] | null {
  if (state.durableTo < slot) return null;
  const { copies } = leadership;
  const have = copies.filter(({ received }) => received >= slot);
  switch (level) {
    case 'none':
    case 'async':
      return [];
    case 'majority':
      return have.length + 1 >= majority(state.config) ? [] : null;
    case 'semi':
    case 'sync': {
      const isIn = ({ received, executed }: CopyProgress): boolean =>
        (level === 'sync' ? executed : received) >= slot;
      if (!copies.every((copy) => isIn(copy) || !copy.isWaitedFor)) return null;
      const waited = copies.filter(isIn).map(({ id }) => id);
      return waited.length + 1 >= floor(state.config) ? waited : null;
    }
    default:
      return level satisfies never;
  }
}

/** At the bound: copies that are silent are dropped where that is allowed; who still cannot be answered hears so. */
export function giveUpWaiting(run: Run): void {
  const { state } = run;
  const { leadership, config, nowMs } = state;
  if (leadership === null) return;
  const late = [...leadership.waiting.values()].filter(
    ({ sinceMs }) => nowMs - sinceMs >= config.acknowledgeMsMax,
  );
  if (late.length === 0) return;
  if (config.dropSilentCopies) dropSilent(run, leadership, late);
  acknowledge(run);
  for (const { proposal, slot } of late) {
    if (!leadership.waiting.delete(slot)) continue;
    leadership.labels.delete(proposalLabel(proposal));
    run.effects.push({ kind: 'unacknowledged', proposal, slot, code: 'timedOut' });
  }
  sendToCopies(run);
}

function dropSilent(run: Run, leadership: Leadership, late: readonly WaitingProposal[]): void {
  for (const copy of leadership.copies) {
    const lacks = late.some(({ slot, level }) => (level === 'sync' ? copy.executed : copy.received) < slot);
    if (!copy.isWaitedFor || !lacks) continue;
    if (
      recentlyHeard(run.state, copy) &&
      run.state.nowMs - copy.gainedAtMs < run.state.config.acknowledgeMsMax
    )
      continue;
    copy.isWaitedFor = false;
    run.effects.push({ kind: 'waitsFor', copy: copy.id, isWaitedFor: false });
  }
}
