/**
 * Restart: the state of a replica whose process has just begun. It is recovering, whatever it was.
 *
 * Responsible for: createState, and where a recovered log ends. Whatever is not in the log is forgotten.
 */
import { ballotNone, compareBallots } from '../multipaxos/ballot.ts';
import type { Vote } from '../multipaxos/types/entries.ts';
import type { Slot } from '../multipaxos/types/names.ts';
import type { RecoveredLog } from '../multipaxos/types/records.ts';
import { drawSuspicion } from './election.ts';
import { must, putSlot } from './run.ts';
import type { State } from './state.ts';
import type { PrimaryConfig } from './types/effects.ts';

export function createState(
  config: PrimaryConfig,
  recovered: Pick<RecoveredLog, 'promised' | 'commitPoint' | 'purgedTo' | 'tail'>,
  nowMs: number,
  random: number,
): State {
  checkConfig(config);
  const purgedTo = Math.max(recovered.commitPoint, recovered.purgedTo) as Slot;
  const tail = recoveredTail(recovered.tail, purgedTo);
  must(purgedTo === 0 || tail.length > 0, 'what is not purged begins with a settled entry');
  const base = (purgedTo === 0 ? 0 : purgedTo + 1) as Slot;
  const state: State = {
    config,
    nowMs,
    random,
    isTold: config.isTold,
    restartTraced: false,
    promised: recovered.promised,
    durablePromised: recovered.promised,
    log: new Map(),
    base,
    lastSlot: (purgedTo + tail.length) as Slot,
    logBytes: 0,
    nextSeq: 1,
    pending: [],
    durableTo: (purgedTo + tail.length) as Slot,
    role: 'recovering',
    highestRound: recovered.promised.round,
    primary: null,
    heardAtMs: nowMs,
    heardSentAtMs: 0,
    suspectAtMs: nowMs,
    candidacy: null,
    leadership: null,
    matched: 0 as Slot,
    beginsAt: 0 as Slot,
    settled: base,
    wordGiven: null,
    databaseUp: false,
    isTakingCopy: false,
    needsCopy: false,
    pushedTo: 0 as Slot,
    executed: 0 as Slot,
    durableExecuted: 0 as Slot,
    told: { role: 'recovering', ballot: recovered.promised, leader: null, serving: false },
    toldReceived: { epoch: ballotNone, received: 0 as Slot, executed: 0 as Slot },
  };
  for (const vote of tail) putSlot(state, vote, 0);
  drawSuspicion(state);
  return state;
}

/** A log ends where a slot is missing, or where epochs go back: what lies behind was cut off (run.ts, `writeBehind`). */
function recoveredTail(tail: RecoveredLog['tail'], purgedTo: Slot): readonly Vote[] {
  const votes: Vote[] = [];
  let epoch = ballotNone;
  for (const { slot, ballot, entry } of tail) {
    if (slot <= purgedTo) continue;
    if (ballot === null || ballot.round === 0) break;
    if (slot !== purgedTo + votes.length + 1 || compareBallots(ballot, epoch) < 0) break;
    votes.push({ slot, ballot, entry });
    epoch = ballot;
  }
  return votes;
}

function checkConfig({
  id,
  replicas,
  promoteAloneRiskingSplitBrain,
  heartbeatMs,
  failureTimeoutMs,
}: PrimaryConfig): void {
  must(
    replicas.includes(id) && new Set(replicas).size === replicas.length,
    'this replica is one of the replicas',
  );
  must(replicas.length >= 2 && replicas.length <= 5, 'a primary has one to four copies');
  must(!promoteAloneRiskingSplitBrain || replicas.length === 2, 'only one of two replicas takes over alone');
  must(
    heartbeatMs * 2 <= failureTimeoutMs,
    'two signs of life fit into the time after which a replica is suspected',
  );
}
