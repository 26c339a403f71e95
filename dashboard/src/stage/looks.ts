/**
 * What the stage says of each replica: what it believes by its own last words, and how old those are. Pure reading of one `ClusterStatus`.
 *
 * There is no global truth here: a replica that lags behind keeps its old ballot, and one that says nothing any more its last one.
 */
import type { ClusterReplica, ClusterStatus } from '../../../server/src/api/status.ts';
import type { Ballot } from '../../../server/src/multipaxos/types/names.ts';
import { formatCount } from '../model/format.ts';
import { formatBallot, freshStatus, leads, roleOf, type ShownRole } from '../model/cluster-view.ts';
import { standingOf } from '../model/standing.ts';

/** `asleep`: frozen. `silent`: it runs, and has said nothing for a while. */
export type Liveness = 'up' | 'asleep' | 'silent' | 'down';

export interface Look {
  readonly id: string;
  /** Null: it has never said. */
  readonly ballot: Ballot | null;
  readonly role: ShownRole;
  readonly isLeading: boolean;
  readonly liveness: Liveness;
  /** Its vote counts. */
  readonly counts: boolean;
  /** In words: what it is, how far, and what its PostgreSQL is. */
  readonly roleText: string;
  readonly ballotText: string;
  readonly slotText: string;
  readonly databaseText: string;
  readonly database: 'up' | 'busy' | 'down' | 'unknown';
  /** Since its last words, when the cluster was told of. */
  readonly ageMs: number | null;
  /** Where its PostgreSQL is being copied from; null: it is not. */
  readonly copiesFrom: string | null;
}

export function looksOf(cluster: ClusterStatus, leader: string | null): readonly Look[] {
  return cluster.replicas.map((replica) => lookOf(replica, leader));
}

function lookOf(replica: ClusterReplica, leader: string | null): Look {
  const { id, status } = replica;
  const role = roleOf(replica, leader);
  const recovery = freshStatus(replica)?.recovery ?? null;
  const { text, counts, incarnation } = standingOf(replica, leader);
  return {
    id,
    ballot: status === null || status.ballot.round === 0 ? null : status.ballot,
    role,
    isLeading: leads(role) || role === 'deposed',
    liveness: livenessOf(replica),
    counts,
    roleText: incarnation === null ? text : `${text} · ${incarnation}`,
    ballotText: status === null ? '–' : formatBallot(status.ballot),
    slotText: status === null ? 'no log' : `slot ${formatCount(status.commitPoint)}`,
    ...databaseOf(replica),
    ageMs: replica.ageMs,
    copiesFrom: recovery?.phase === 'copying' ? recovery.source : null,
  };
}

function livenessOf(replica: ClusterReplica): Liveness {
  if (replica.process === 'stopped') return 'down';
  if (replica.process === 'paused') return 'asleep';
  return freshStatus(replica) === null ? 'silent' : 'up';
}

function databaseOf(replica: ClusterReplica): Pick<Look, 'database' | 'databaseText'> {
  const status = freshStatus(replica);
  if (replica.process === 'stopped') return { database: 'down', databaseText: 'PostgreSQL down' };
  if (status === null) return { database: 'unknown', databaseText: 'PostgreSQL unknown' };
  const { recovery, wal } = status;
  if (recovery?.phase === 'copying') {
    const percent = recovery.percent === null ? '' : ` ${Math.floor(recovery.percent)}%`;
    return { database: 'busy', databaseText: `copies ${recovery.source ?? ''}${percent}` };
  }
  if (recovery !== null) return { database: 'busy', databaseText: phases[recovery.phase] };
  if (!status.postgres.up) return { database: 'down', databaseText: 'PostgreSQL down' };
  return { database: 'up', databaseText: wal === null ? 'PostgreSQL up' : `PostgreSQL ${wal.role}` };
}

const phases = {
  joining: 'asks to be let in',
  copying: 'copies',
  starting: 'starts its copy',
  catchingUp: 'catches up',
} as const;

/** For who cannot see the stage. */
export function spellLook(look: Look): string {
  return [
    look.id,
    look.roleText,
    look.ballot === null ? null : `ballot ${look.ballotText}`,
    look.slotText,
    look.databaseText,
  ]
    .filter((part) => part !== null)
    .join(', ');
}
