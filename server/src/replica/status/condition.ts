/** What a replica says of itself: one condition, and what to do about it, from all that may be wrong. Pure. */
import type { RecoveryProgress, ReplicaCondition } from '../../api/status.ts';
import type { Role, Slot } from '../../multipaxos/types/names.ts';
import type { LaunchStep } from '../../payload/wal/life/context.ts';
import type { Service } from '../../ports/client-service.ts';

/** Texts are for people; null: nothing is wrong there. */
export interface Facts {
  readonly removed: string | null;
  readonly divergence: string | null;
  readonly logTrouble: string | null;
  /** Of a replica that serves: that PostgreSQL is away, and nothing less (`damage`). */
  readonly databaseTrouble: string | null;
  readonly lostMajority: string | null;
  /** What is wrong with the database with which clients are served here. */
  readonly damage: string | null;
  /** Members that a leader hears no more. */
  readonly disbelief: string | null;
  /** Its disk, or its links to a quorum. */
  readonly slowness: string | null;
  readonly recovery: RecoveryProgress | null;
  readonly databaseUp: boolean;
  /** What is chosen is not applied here: the replay is paused, or what executes statements stands or lags. */
  readonly applyStands: string | null;
  readonly launchStep: LaunchStep | null;
  readonly role: Role;
  readonly service: Service['kind'];
  /** Of a follower: its leader serves clients. */
  readonly leaderServes: boolean;
  readonly pointer: Slot;
  readonly commitPoint: Slot;
}

export interface Condition {
  readonly state: ReplicaCondition;
  readonly message: string | null;
}

/** How far a follower may lag before it says so. */
const lagSlots = 1000;

/** What keeps a replica from leading; the worst first. */
export function troubleOf(facts: Facts): Condition | null {
  const { recovery } = facts;
  if (facts.removed !== null) return { state: 'removed', message: facts.removed };
  if (facts.logTrouble !== null) return { state: 'logFull', message: facts.logTrouble };
  if (recovery?.phase === 'copying' || recovery?.phase === 'starting') {
    return { state: 'restoring', message: restoringMessage(recovery, facts.databaseTrouble) };
  }
  if (facts.divergence !== null) return { state: 'diverged', message: facts.divergence };
  const { databaseTrouble } = facts;
  return databaseTrouble === null ? null : { state: 'databaseDown', message: databaseTrouble };
}

export function conditionOf(facts: Facts): Condition {
  const trouble = troubleOf(facts);
  if (trouble !== null) return trouble;
  const quiet = (state: ReplicaCondition): Condition => ({ state, message: null });
  // A leader that was deposed for want of a majority waits for one before its database may come up.
  if (facts.lostMajority !== null && facts.service === 'nowhere')
    return { state: 'noLeader', message: facts.lostMajority };
  if (!facts.databaseUp) return { state: 'starting', message: launchMessage(facts.launchStep) };
  if (facts.applyStands !== null) return { state: 'recovering', message: facts.applyStands };
  if (facts.service === 'here')
    return { state: 'serving', message: facts.damage ?? facts.disbelief ?? facts.slowness };
  if (facts.role === 'leader' || facts.pointer + lagSlots < facts.commitPoint) return quiet('recovering');
  if (facts.service === 'at')
    return facts.leaderServes ? { state: 'serving', message: facts.slowness } : leaderServesNobody;
  return quiet('noLeader');
}

const leaderServesNobody: Condition = {
  state: 'recovering',
  message: 'The leader does not serve clients yet.',
};

const launchMessages: Readonly<Record<LaunchStep, string>> = {
  creating: 'A new database is being created.',
  starting: 'PostgreSQL is starting.',
  preparing: 'PostgreSQL is being prepared: roles and the database.',
  judging: 'What this replica wrote when it led is compared with what was chosen.',
};

function launchMessage(step: LaunchStep | null): string | null {
  return step === null ? null : launchMessages[step];
}

function restoringMessage(recovery: RecoveryProgress, trouble: string | null): string {
  const now = stepMessage(recovery, trouble);
  const { lastFailure } = recovery;
  if (lastFailure === null) return now;
  const { reason, source } = lastFailure;
  // Told as the trouble.
  if (source === null && recovery.source === null && trouble !== null) return now;
  return `${now} The last attempt failed${source === null ? '' : `, with ${source}`}: ${reason.replace(/\.$/, '')}.`;
}

function stepMessage({ source, phase, attempts, percent }: RecoveryProgress, trouble: string | null): string {
  const why = trouble === null ? '' : ` (${trouble})`;
  if (phase === 'starting' && source === null)
    return `No other replica could give a copy, and PostgreSQL is started again on its own database${why}.`;
  if (phase === 'starting') return `PostgreSQL starts on a copy of another replica's data${why}.`;
  if (source === null) return `The database must be copied from another replica${why}.`;
  if (percent === 100) return `A copy of ${source}'s database is here, and is being made durable.`;
  const again = attempts > 1 ? `, attempt ${attempts}` : '';
  return `The database is being copied from ${source}${again}.`;
}
