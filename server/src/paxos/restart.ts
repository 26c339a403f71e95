/**
 * Restart: the state of a replica whose process has just begun.
 *
 * Responsible for: createPaxosState. Whatever is not in the recovered log is forgotten: proposals of an earlier life are not proposed again.
 */
import { compareBallots } from '../multipaxos/ballot.ts';
import { entryLabel } from '../multipaxos/entry.ts';
import type { Slot } from '../multipaxos/types/names.ts';
import type { RecoveredLog } from '../multipaxos/types/records.ts';
import { violated } from './invariants.ts';
import { advance } from './learner.ts';
import { noteInUse, slotState, type PaxosState } from './state.ts';
import type { PaxosConfig } from './types/effects.ts';

const membersMax = 7;

/** The spec's Restart. The first step reports what the recovered log proves to be decided above its commit point. */
export function createPaxosState(
  config: PaxosConfig,
  recovered: RecoveredLog,
  nowMs: number,
  random: number,
): PaxosState {
  checkConfig(config);
  const start = Math.max(recovered.commitPoint, recovered.purgedTo) as Slot;
  const state: PaxosState = {
    config,
    peers: config.members.filter((member) => member !== config.id),
    configuration: recovered.configuration,
    nowMs,
    seed: seedOf(random),
    slots: new Map(),
    lastSlot: start,
    commitPoint: start,
    reported: start,
    durableTo: start,
    droppedTo: start,
    purgedTo: recovered.purgedTo,
    nextSeq: 1,
    durableSeq: 0,
    pending: [],
    recordedCommitPoint: recovered.commitPoint,
    durableCommitPoint: start,
    done: 0 as Slot,
    databaseAt: 0 as Slot,
    known: new Map(),
    waiting: [],
    under: new Map(),
    underBytes: 0,
    statusAtMs: nowMs,
    heardCommitPoint: 0 as Slot,
    heardFrom: null,
    askedAtMs: Number.NEGATIVE_INFINITY,
    askedTimes: 0,
    restartTraced: false,
  };
  recoverSlots(state, recovered);
  advance(state);
  return state;
}

export function seedOf(random: number): number {
  return Math.floor(random * 2 ** 32) >>> 0;
}

function checkConfig({ id, members }: PaxosConfig): void {
  if (new Set(members).size !== members.length) violated('TypeOK', 'a member is named twice');
  if (members.length < 1 || members.length > membersMax)
    violated('TypeOK', `${members.length} members, of 1 to ${membersMax}`);
  if (!members.includes(id)) violated('TypeOK', `${id} is no member`);
}

function recoverSlots(state: PaxosState, { tail, slotPromises = [] }: RecoveredLog): void {
  const { droppedTo } = state;
  for (const { slot, entry, ballot } of tail) {
    if (slot <= droppedTo) continue;
    const held = slotState(state, slot);
    held.entry = entry;
    held.label = entryLabel(entry);
    held.ballot = ballot;
    held.decided = ballot === null;
    if (ballot !== null) held.promised = ballot;
  }
  for (const { slot, ballot } of slotPromises) {
    if (slot <= droppedTo) continue;
    const held = slotState(state, slot);
    if (compareBallots(ballot, held.promised) > 0) held.promised = ballot;
  }
  for (const held of state.slots.values()) {
    held.highestRound = held.promised.round;
    noteInUse(state, held);
  }
}
