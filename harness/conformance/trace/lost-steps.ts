/**
 * The last moments of a killed process, as far as others know of them.
 *
 * Responsible for: the steps that must have happened although no event tells of them, each an ordinary action of the spec. Only
 * ever asked for a replica whose run has no further events.
 */
import { compareBallots, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { handedOutEarly, missingMessages } from './event-steps.ts';
import type { ConsensusEvent } from './read-trace.ts';
import { ballotName, noBallot, type SpecMessage } from './spec-message.ts';
import { decidedBy, votersOfLabel } from './spec-configuration.ts';
import { firstProposals } from './spec-promise.ts';
import {
  lastSlotOf,
  replicaOf,
  wasSent,
  type ReplicaState,
  type SpecState,
  type Step,
} from './spec-state.ts';

/** The next step towards the messages that `event` waits for; none if nothing can explain them. */
export function lostStepsFor(
  state: SpecState,
  event: ConsensusEvent,
  hasDied: (id: ReplicaId) => boolean,
): Step[] {
  const missing = missingMessages(state, event);
  const rejecter = event.name === 'HandleReject' && missing.length === 0 ? event.from : undefined;
  if (rejecter !== undefined && hasDied(rejecter)) {
    return towardsPromise(state, rejecter, event.message?.promised ?? noBallot);
  }
  const early = missing.length === 0 ? handedOutEarly(state, event) : null;
  if (early !== null && event.from !== undefined && hasDied(event.from)) {
    const holder = replicaOf(state, event.from);
    const isHeld = holder.log.get(early.slot)?.label === early.label;
    return isHeld
      ? flushAll(event.from, holder)
      : towardsVote(state, event.from, early.slot, null, early.label);
  }
  for (const message of missing) {
    const sender = senderOf(state, message, hasDied);
    if (sender !== null) {
      const steps = towards(state, sender, message);
      if (steps.length > 0) return steps.slice(0, 1);
    }
  }
  return [];
}

function senderOf(
  state: SpecState,
  message: SpecMessage,
  hasDied: (id: ReplicaId) => boolean,
): ReplicaId | null {
  if (message.type === 'CatchUpReply') {
    const leader = [...state.replicas].find(([id, replica]) => replica.role === 'leader' && hasDied(id));
    return leader?.[0] ?? null;
  }
  const sender = 'from' in message ? message.from : message.ballot.replica;
  return state.replicas.has(sender) && hasDied(sender) ? sender : null;
}

function towards(state: SpecState, id: ReplicaId, message: SpecMessage): Step[] {
  const replica = replicaOf(state, id);
  const flush = flushAll(id, replica);
  switch (message.type) {
    case 'Accepted': {
      const held = replica.log.get(message.slot);
      if (held?.ballot != null && sameBallot(held.ballot, message.ballot)) return flush;
      return voteFor(state, id, message.ballot, message.slot);
    }
    case 'Accept':
      return towardsVote(state, id, message.slot, message.ballot, message.label);
    case 'Heartbeat':
      if (replica.role === 'candidate') return towardsOffice(state, id, replica);
      return towardsCommitPoint(state, id, message.commitPoint);
    case 'CatchUpReply':
      return towardsCommitPoint(state, id, message.slot);
    case 'Promise':
      return towardsPromise(state, id, message.ballot);
    case 'Prepare':
      return compareBallots(message.ballot, replica.promised) > 0
        ? [{ action: 'StartElection', replica: id, ballot: message.ballot }]
        : flush;
    default:
      return message satisfies never;
  }
}

function flushAll(replica: ReplicaId, { buffer }: ReplicaState): Step[] {
  return buffer.length === 0 ? [] : [{ action: 'Fsync', replica, records: buffer.length }];
}

/** What of the buffer has to be durable for a leader to count its own votes up to the slot, and no more: what it found of the rest when it came back says whether that was durable. */
export function flushUpTo(
  replica: ReplicaId,
  { buffer }: Pick<ReplicaState, 'buffer'>,
  slot: number,
): Step[] {
  const last = buffer.findLastIndex(({ record }) => record.kind !== 'base' && record.slot <= slot);
  return last < 0 ? [] : [{ action: 'Fsync', replica, records: last + 1 }];
}

function lowestTold(state: SpecState, ballot: Ballot): number {
  return Math.min(...(state.told.get(ballotName(ballot)) ?? [0]));
}

function voteFor(state: SpecState, id: ReplicaId, ballot: Ballot, slot: number): Step[] {
  if (compareBallots(ballot, replicaOf(state, id).promised) < 0) return [];
  for (const { message } of state.sent.values()) {
    if (message.type !== 'Accept' || message.slot !== slot || !sameBallot(message.ballot, ballot)) continue;
    const run = {
      ballot,
      firstSlot: slot,
      lastSlot: slot,
      labels: [message.label],
      commitPoint: lowestTold(state, ballot),
    };
    return [{ action: 'HandleAccept', replica: id, from: ballot.replica, ...run }];
  }
  return [];
}

/** A leader flushes what it has to, counts votes that were sent to it, slot by slot, and advances. */
function towardsCommitPoint(state: SpecState, id: ReplicaId, commitPoint: number): Step[] {
  const replica = replicaOf(state, id);
  if (replica.role !== 'leader' || replica.commitPoint >= commitPoint) return [];
  const flush = flushUpTo(id, replica, commitPoint);
  if (flush.length > 0) return flush;
  const ballot = replica.promised;
  for (let slot = replica.commitPoint + 1; slot <= commitPoint; slot++) {
    const counted = replica.acks.get(slot) ?? new Set<ReplicaId>();
    const voters = decidedBy(state, replica, slot);
    if (isMajority(voters, [...counted, id])) continue;
    for (const from of voters) {
      if (from === id || counted.has(from) || !wasSent(state, { type: 'Accepted', from, ballot, slot }))
        continue;
      return [{ action: 'HandleAccepted', replica: id, from, ballot, firstSlot: slot, lastSlot: slot }];
    }
    return [];
  }
  return [{ action: 'AdvanceCommitPoint', replica: id, commitPoint }];
}

function towardsPromise(state: SpecState, id: ReplicaId, ballot: Ballot): Step[] {
  const replica = replicaOf(state, id);
  if (compareBallots(replica.promised, ballot) >= 0) return flushAll(id, replica);
  if (ballot.replica === id) {
    return [
      replica.role === 'leader'
        ? { action: 'StepDown', replica: id }
        : { action: 'StartElection', replica: id, ballot },
    ];
  }
  for (const { message } of state.sent.values()) {
    if (message.type !== 'Prepare' || !sameBallot(message.ballot, ballot)) continue;
    return [
      {
        action: 'HandlePrepare',
        replica: id,
        from: ballot.replica,
        ballot,
        commitPoint: message.commitPoint,
      },
    ];
  }
  const told = state.told.get(ballotName(ballot));
  if (told === undefined) return [];
  return [followed(id, ballot, Math.min(...told))];
}

/** The next step towards what the Restart found on the disk of a replica that died; none if nothing can explain it. */
export function lostStepBefore(state: SpecState, restart: ConsensusEvent): Step[] {
  const id = restart.replica;
  const replica = replicaOf(state, id);
  for (const [slot, ballot, label] of restart.votes ?? []) {
    const held = replica.log.get(slot);
    if (held?.label === label && sameBallot(held.ballot ?? noBallot, ballot ?? noBallot)) continue;
    const steps = towardsVote(state, id, slot, ballot, label);
    if (steps.length > 0) return steps;
  }
  if (replica.commitPoint < restart.state.commitPoint) {
    const reached = restart.state.commitPoint;
    const told = [...(state.told.get(ballotName(replica.promised)) ?? [])].filter((one) => one >= reached);
    if (replica.role === 'leader') return towardsCommitPoint(state, id, reached);
    if (told.length > 0) return [followed(id, replica.promised, Math.min(...told))];
  }
  const isBehind = compareBallots(replica.promised, restart.state.promised) < 0;
  return isBehind ? towardsPromise(state, id, restart.state.promised) : [];
}

function followed(replica: ReplicaId, ballot: Ballot, commitPoint: number): Step {
  return { action: 'HandleHeartbeat', replica, from: ballot.replica, ballot, commitPoint };
}

function towardsVote(
  state: SpecState,
  id: ReplicaId,
  slot: number,
  ballot: Ballot | null,
  label: EntryLabel,
): Step[] {
  const replica = replicaOf(state, id);
  if (ballot === null) {
    if (slot !== replica.commitPoint + 1) return [];
    return [{ action: 'HandleCatchUpReply', replica: id, firstSlot: slot, lastSlot: slot, labels: [label] }];
  }
  if (ballot.replica !== id) return voteFor(state, id, ballot, slot);
  if (compareBallots(replica.promised, ballot) < 0) return [{ action: 'StartElection', replica: id, ballot }];
  return towardsProposal(state, id, slot, label);
}

/** A candidate takes office, a leader proposes. */
function towardsProposal(state: SpecState, id: ReplicaId, slot: number, label: EntryLabel): Step[] {
  const replica = replicaOf(state, id);
  if (replica.role === 'candidate') return towardsOffice(state, id, replica);
  if (replica.role !== 'leader') return [];
  if (!replica.serving) {
    if (replica.commitPoint < replica.startSlot) return towardsCommitPoint(state, id, replica.startSlot);
    return [{ action: 'Serve', replica: id }];
  }
  if (slot !== lastSlotOf(replica) + 1) return [];
  const action = votersOfLabel(state, label) === null ? 'Propose' : 'Reconfigure';
  return [{ action, replica: id, firstSlot: slot, labels: [label] }];
}

function towardsOffice(state: SpecState, id: ReplicaId, replica: ReplicaState): Step[] {
  if (replica.buffer.length > 0) return flushAll(id, replica);
  const sent = [...state.sent.values()].flatMap(({ message }) =>
    message.type === 'Promise' && sameBallot(message.ballot, replica.promised) ? [message] : [],
  );
  const { voters } = replica.config;
  const promisers = [...replica.promises.map(({ from }) => from), id];
  if (!isMajority(voters, promisers)) {
    const promise = sent.find(({ from }) => voters.includes(from) && !promisers.includes(from));
    return promise === undefined
      ? []
      : [{ action: 'HandlePromise', replica: id, from: promise.from, promise }];
  }
  // A configuration among them holds up what lies above it.
  const proposals = firstProposals(state, id, replica);
  const first = proposals[0]?.[0] ?? 0;
  const isChange = ([, label]: readonly [number, EntryLabel]): boolean =>
    votersOfLabel(state, label) !== null;
  const next = proposals.findIndex(isChange);
  const stage = next === -1 ? proposals : proposals.slice(0, next);
  const labels = stage.map(([, label]) => label);
  return [{ action: 'BecomeLeader', replica: id, firstSlot: first, labels }];
}

function isMajority(voters: readonly ReplicaId[], those: readonly ReplicaId[]): boolean {
  return 2 * voters.filter((voter) => those.includes(voter)).length > voters.length;
}
