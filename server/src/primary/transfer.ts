/**
 * State transfer (the paper's algorithms 3 and 4): the primary pauses and keeps requests waiting, its database is copied, and the copy's log goes on from there.
 *
 * Invariants: a database is copied when all that it has executed is settled. The pause has a bound. What a log has said of entries behind the copied ones it keeps.
 */
import { compareBallots, sameBallot } from '../multipaxos/ballot.ts';
import type { Vote } from '../multipaxos/types/entries.ts';
import type { Ballot, Slot } from '../multipaxos/types/names.ts';
import type { LogRecord } from '../multipaxos/types/records.ts';
import { logOperation, sendToCopies } from './leadership.ts';
import { persist, promise, putSlot, type Run, taint, traceAction } from './run.ts';

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

/** All that was ordered is executed and settled: the database may be copied. Or the pause has lasted long enough. */
export function considerPause(run: Run): void {
  const { leadership, nowMs, lastSlot, executed, settled, log } = run.state;
  if (leadership === null || leadership.pausedUntilMs === null) return;
  if (nowMs >= leadership.pausedUntilMs) return resume(run);
  if (leadership.pauseTold || executed < lastSlot || settled < lastSlot) return;
  leadership.pauseTold = true;
  const { slot, ballot, entry } = log.get(lastSlot)!;
  run.effects.push({ kind: 'paused', epoch: leadership.epoch, last: { slot, ballot, entry } });
}

/** A copy has come. Its log is written first; nothing is heard until it is durable. */
export function takeCopy(run: Run, epoch: Ballot, last: Vote): void {
  const { state } = run;
  if (state.leadership !== null || state.isTakingCopy || compareBallots(epoch, state.promised) < 0) return;
  promise(state, epoch);
  state.candidacy = null;
  state.isTakingCopy = true;
  const records: LogRecord[] = [{ kind: 'promise', ballot: epoch }];
  if (!goesOn(run, last)) {
    for (let slot: number = state.lastSlot; slot > last.slot; slot -= 1)
      records.push({
        kind: 'vote',
        slot: slot as Slot,
        ballot: none,
        entry: { kind: 'noop', group: state.config.group },
      });
    records.push({ kind: 'vote', ...last }, { kind: 'commitPoint', slot: (last.slot - 1) as Slot });
  }
  persist(run, { records, isGroup: false, heldBack: [{ kind: 'copied', epoch, last }] });
}

const none = { round: 0, replica: '' } as Ballot;

/** The log has what was executed last: it is kept. */
function goesOn({ state }: Run, { slot, ballot }: Vote): boolean {
  const own = state.log.get(slot);
  return own !== undefined && sameBallot(own.ballot, ballot);
}

/** The log is durable: the database is this one from now on. */
export function transferState(run: Run, epoch: Ballot, last: Vote): void {
  const { state } = run;
  state.isTakingCopy = false;
  state.needsCopy = false;
  state.databaseUp = true;
  state.pushedTo = last.slot;
  if (!goesOn(run, last)) {
    state.log.clear();
    state.logBytes = 0;
    state.base = (last.slot - 1) as Slot;
    putSlot(state, last, 0);
    state.lastSlot = last.slot;
    state.durableTo = last.slot;
  }
  state.pushedTo = last.slot;
  state.executed = last.slot;
  state.durableExecuted = last.slot;
  state.matched = Math.max(state.matched, last.slot) as Slot;
  state.settled = Math.max(state.settled, last.slot) as Slot;
  state.role = 'recovering';
  traceAction(run, 'TransferState', epoch, { slot: last.slot });
}

/** The own database came up with everything up to `slot`. */
export function databaseRestored(run: Run, slot: Slot, isMarked: boolean): void {
  const { state } = run;
  state.databaseUp = true;
  state.executed = slot;
  state.durableExecuted = slot;
  state.pushedTo = slot;
  if (isMarked) state.needsCopy = true;
  else if (slot > state.lastSlot || slot < state.base) taint(run);
}
