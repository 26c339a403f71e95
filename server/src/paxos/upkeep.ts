/**
 * What time brings: messages are sent again, proposals that backed off try anew, and slots that are in use and silent are finished.
 *
 * Responsible for: tick. Everything is bounded: one look at the slots within reach, and so many ballots begun at a time.
 */
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { requestMissing, tellStatus } from './catch-up.ts';
import { purge } from './done.ts';
import { startBallot } from './proposer.ts';
import { send, type PaxosRun } from './run.ts';
import { noteInUse, slotState, type OpenBallot, type SlotState } from './state.ts';

/** Slots that are finished for others' sake, each tick. */
const fillsMax = 8;

export function tick(run: PaxosRun): void {
  tendSlots(run);
  requestMissing(run);
  tellStatus(run);
  purge(run);
}

function tendSlots(run: PaxosRun): void {
  const { state } = run;
  let fills = 0;
  const last = state.lastSlot;
  for (let slot = (state.commitPoint + 1) as Slot; slot <= last; slot = (slot + 1) as Slot) {
    const held = state.slots.get(slot) ?? newHole(run, slot);
    if (held.decided) continue;
    if (held.open !== null) sendAgain(run, held, held.open);
    else if (held.own !== null) {
      if (held.own.notBeforeMs <= state.nowMs) startBallot(run, held);
    } else if (held.fillAtMs <= state.nowMs && fills < fillsMax) {
      fills += 1;
      startBallot(run, held);
    }
  }
}

function newHole(run: PaxosRun, slot: Slot): SlotState {
  const held = slotState(run.state, slot);
  noteInUse(run.state, held);
  return held;
}

/** To those who have not answered. */
function sendAgain(run: PaxosRun, held: SlotState, open: OpenBallot): void {
  const { state } = run;
  if (state.nowMs < open.sentAtMs + state.config.retransmitMs) return;
  open.sentAtMs = state.nowMs;
  const { slot, entry } = held;
  const { ballot, phase } = open;
  const silent = (answered: { has(peer: ReplicaId): boolean }): ReplicaId[] =>
    state.peers.filter((peer) => !answered.has(peer));
  if (phase === 'prepare') {
    for (const peer of silent(open.promises)) send(run, peer, { kind: 'SlotPrepare', slot, ballot });
  } else if (entry !== null) {
    for (const peer of silent(open.votes)) send(run, peer, { kind: 'SlotAccept', slot, ballot, entry });
  }
}
