/**
 * State transfer (the paper's algorithms 3 and 4): the primary pauses and keeps requests waiting, its database is copied, and the copy's log goes on from there.
 *
 * Invariants: what is copied comes with its log from a settled entry on, so that whatever is not settled can still be told from what another primary has there. The pause has a bound.
 */
import { compareBallots, sameBallot } from '../multipaxos/ballot.ts';
import type { Vote } from '../multipaxos/types/entries.ts';
import type { Ballot, Slot } from '../multipaxos/types/names.ts';
import type { LogRecord } from '../multipaxos/types/records.ts';
import { logOperation, sendToCopies } from './leadership.ts';
import type { Input } from './types/effects.ts';
import { cutAt, persist, promise, putSlot, type Run, taint, traceAction } from './run.ts';

export function pausePrimary(run: Run): void {
  const { leadership, nowMs, config } = run.state;
  if (leadership === null) {
    run.effects.push({ kind: 'resumed' });
    return;
  }
  leadership.pausedUntilMs = nowMs + config.pauseMsMax;
  leadership.pauseTold = false;
}

export function resume(run: Run): void {
  const { leadership } = run.state;
  if (leadership === null || leadership.pausedUntilMs === null) return;
  const { queue } = leadership;
  leadership.queue = [];
  leadership.queueBytes = 0;
  leadership.pausedUntilMs = null;
  for (const each of queue) logOperation(run, each);
  run.effects.push({ kind: 'resumed' });
  sendToCopies(run);
}

/** All that was ordered is executed: the database may be copied, and the log goes along from where it is settled. Or the pause has lasted long enough. */
export function considerPause(run: Run): void {
  const { leadership, nowMs, lastSlot, executed, log } = run.state;
  if (leadership === null || leadership.pausedUntilMs === null) return;
  if (nowMs >= leadership.pausedUntilMs) return resume(run);
  if (leadership.pauseTold || executed < lastSlot) return;
  leadership.pauseTold = true;
  traceAction(run, 'PausePrimary', leadership.epoch, { slot: lastSlot });
  const entries = [...log.values()].map(({ slot, ballot, entry }) => ({ slot, ballot, entry }));
  run.effects.push({
    kind: 'paused',
    epoch: leadership.epoch,
    entries: entries.sort((a, b) => a.slot - b.slot),
  });
}

/** A copy has come. Its log is written first; nothing is heard until it is durable. */
export function takeCopy(run: Run, epoch: Ballot, entries: readonly Vote[]): void {
  const { state } = run;
  const last = entries.at(-1);
  if (state.leadership !== null || state.isTakingCopy || last === undefined) return;
  if (compareBallots(epoch, state.promised) < 0 || (!state.needsCopy && last.slot <= state.lastSlot)) return;
  // A log does not go back behind what it has let go of: where another has led meanwhile, its primary has to come as far first.
  if (last.slot < state.base) return;
  promise(state, epoch);
  state.candidacy = null;
  state.isTakingCopy = true;
  const records: LogRecord[] = [{ kind: 'promise', ballot: epoch }];
  if (!goesOn(run, last)) {
    for (let slot: number = state.lastSlot; slot > last.slot; slot -= 1)
      records.push(cutAt(state, slot as Slot));
    records.push(...entries.map((each) => ({ kind: 'vote', ...each }) as const));
    if (entries[0]!.slot > 1) records.push({ kind: 'commitPoint', slot: (entries[0]!.slot - 1) as Slot });
  }
  persist(run, { records, isGroup: false, heldBack: [{ kind: 'copied', epoch, entries }] });
}

/** The log has what was executed last: it is kept, as it may have told of what lies behind. */
function goesOn({ state }: Run, { slot, ballot }: Vote): boolean {
  const own = state.log.get(slot);
  return own !== undefined && sameBallot(own.ballot, ballot);
}

/** The log is durable: the database is this one from now on. */
export function transferState(run: Run, epoch: Ballot, entries: readonly Vote[]): void {
  const { state } = run;
  const first = entries[0]!;
  const last = entries.at(-1)!;
  state.isTakingCopy = false;
  state.needsCopy = false;
  state.databaseUp = true;
  if (!goesOn(run, last)) {
    state.log.clear();
    state.logBytes = 0;
    state.base = (first.slot === 1 ? 0 : first.slot) as Slot;
    for (const each of entries) putSlot(state, each, 0);
    state.lastSlot = last.slot;
    state.durableTo = last.slot;
    // What was settled beyond was so in another's log only.
    state.settled = Math.min(Math.max(state.settled, state.base), last.slot) as Slot;
  }
  state.pushedTo = last.slot;
  state.executed = last.slot;
  state.durableExecuted = last.slot;
  state.matched = Math.max(state.matched, last.slot) as Slot;
  state.role = 'recovering';
  traceAction(run, 'TransferState', epoch, { slot: last.slot });
}

/** The own database came up with everything up to `slot`. One that has executed nothing takes the place of any, if nothing of the log is purged; so does one of what is settled. */
export function databaseRestored(
  run: Run,
  {
    slot,
    isMarked,
    isSettled = false,
  }: Pick<Extract<Input, { kind: 'Restored' }>, 'slot' | 'isMarked' | 'isSettled'>,
): void {
  const { state } = run;
  const { needsCopy, pushedTo } = state;
  state.databaseUp = true;
  state.executed = slot;
  state.durableExecuted = slot;
  state.pushedTo = slot;
  if (isMarked) state.needsCopy = true;
  else if (slot > state.lastSlot || slot < state.base) taint(run);
  else if (slot === 0) beginAnew(run, needsCopy || pushedTo > 0);
  else if (isSettled) state.needsCopy = false;
}

/** It executes the log from its beginning. */
function beginAnew(run: Run, isAgain: boolean): void {
  run.state.needsCopy = false;
  if (isAgain) traceAction(run, 'BeginAnew', run.state.promised);
}
