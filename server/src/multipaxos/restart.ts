/**
 * Restart: the state of a replica whose process has just begun.
 *
 * Responsible for: createState. Whatever is not in the recovered log is forgotten, and nothing is promised until what may have
 * been forgotten has lost its force.
 */
import { violated } from './invariants.ts';
import { markChosen, putSlot } from './log.ts';
import { replicasMax } from './quorum.ts';
import { makeRoster } from './roster.ts';
import { restartElectionTimer, type State } from './state.ts';
import type { CoreConfig } from './types/effects.ts';
import type { Member } from './types/members.ts';
import type { Slot } from './types/names.ts';
import type { RecoveredLog } from './types/records.ts';

/**
 * The spec's Restart: what the log store recovered, and nothing else. No promise is given for `leaseMs`, because an
 * earlier life may have granted a lease. The first step reports what the recovered log proves to be chosen.
 */
export function createState(
  config: CoreConfig,
  recovered: RecoveredLog,
  nowMs: number,
  random: number,
): State {
  checkConfig(config);
  const { configuration } = recovered;
  checkMembers(configuration.members);
  const start = Math.max(recovered.commitPoint, recovered.purgedTo) as Slot;
  const state: State = {
    config,
    configuration,
    roster: makeRoster(config.id, configuration, null),
    recordedConfiguration: configuration.version,
    tracedConfiguration: 0,
    trace: config.trace,
    toldConfiguration: { version: configuration.version, pending: null },
    nowMs,
    startedAtMs: nowMs,
    random,
    promised: recovered.promised,
    durablePromised: recovered.promised,
    log: new Map(),
    lastSlot: start,
    tailBytes: 0,
    preVote: null,
    highestRound: recovered.promised.round,
    leaseGrantedUntilMs: nowMs + config.leaseMs,
    leaseGrantedTo: null,
    nextSeq: 1,
    durableSeq: 0,
    pending: [],
    recordedCommitPoint: recovered.commitPoint,
    durableCommitPoint: start,
    commitPoint: start,
    reported: start,
    applied: 0 as Slot,
    durableApplied: 0 as Slot,
    droppedTo: start,
    chosenBytes: 0,
    leaderCommitPoint: 0 as Slot,
    knownCommitPoint: start,
    knownCommitPointFrom: null,
    catchUpAtMs: Number.NEGATIVE_INFINITY,
    catchUpAttempts: 0,
    purgedTo: recovered.purgedTo,
    awaitsCopy: false,
    role: 'follower',
    leader: null,
    electionDeadlineMs: 0,
    goneUntilMs: Number.NEGATIVE_INFINITY,
    quarantineUntilMs: Number.NEGATIVE_INFINITY,
    candidacy: null,
    leadership: null,
    lastReason: null,
    told: { role: 'follower', ballot: recovered.promised, leader: null, serving: false },
    restartTraced: false,
  };
  restartElectionTimer(state);
  recoverTail(state, recovered);
  return state;
}

function checkConfig(config: CoreConfig): void {
  const { leaseMs, electionTimeoutMinMs, electionTimeoutMaxMs, clockDriftMax } = config;
  if (leaseMs >= electionTimeoutMinMs) violated('TypeOK', 'leaseMs must be below electionTimeoutMinMs');
  if (electionTimeoutMinMs > electionTimeoutMaxMs)
    violated('TypeOK', 'electionTimeoutMinMs above its maximum');
  if (clockDriftMax < 0 || clockDriftMax >= 1) violated('TypeOK', 'clockDriftMax must be in [0, 1)');
}

/** This replica need not be among them: it may have been removed. */
function checkMembers(members: readonly Member[]): void {
  const replicas = new Set(members.map(({ replica }) => replica));
  if (replicas.size !== members.length) violated('TypeOK', 'a member is named twice');
  if (members.length > replicasMax) violated('TypeOK', `more than ${replicasMax} members`);
  if (members.some(({ role, incarnation }) => role === 'voter' && incarnation === 0))
    violated('TypeOK', 'an expected replica votes');
  if (!members.some(({ role }) => role === 'voter')) violated('TypeOK', 'no one votes');
}

/** A learnt entry proves that all below it is chosen, for it was learnt in order. */
function recoverTail(state: State, recovered: RecoveredLog): void {
  let learntTo = state.commitPoint;
  for (const item of recovered.tail) {
    if (item.slot <= state.commitPoint) continue;
    putSlot(state, { slot: item.slot, entry: item.entry, ballot: item.ballot, seq: 0 });
    if (item.ballot === null && item.slot > learntTo) learntTo = item.slot;
  }
  while (state.commitPoint < learntTo) markChosen(state, (state.commitPoint + 1) as Slot);
  state.knownCommitPoint = state.commitPoint;
}
