/** The members of the group as the best informed replica knows them, and who of them counts. Pure reading of one `ClusterStatus`. */
import type {
  ClusterReplica,
  ClusterStatus,
  MembershipStatus,
  ReplicaStatus,
} from '../../../server/src/api/status.ts';
import { freshStatus } from './cluster-view.ts';

export type Member = MembershipStatus['members'][number];

/** Null before anybody told. */
export function newestMembership(cluster: ClusterStatus | null): MembershipStatus | null {
  const known = (cluster?.replicas ?? []).flatMap(({ status }) =>
    status === null ? [] : [status.membership],
  );
  return known.reduce<MembershipStatus | null>(
    (best, one) => (one.members.length > 0 && one.version > (best?.version ?? -1) ? one : best),
    null,
  );
}

/** Replicas that run here and are no members, as one is whose removal was interrupted when it was out of the group and not stopped yet. None while nobody knows the members. */
export function outsidersOf(cluster: ClusterStatus): readonly string[] {
  const members = newestMembership(cluster)?.members;
  if (members === undefined) return [];
  return cluster.replicas.map(({ id }) => id).filter((id) => !members.some(({ replica }) => replica === id));
}

/** What this very incarnation is in the configuration that it knows; null: no member. */
export function memberRole({ id, incarnation, membership }: ReplicaStatus): Member['role'] | null {
  const member = membership.members.find((each) => each.replica === id);
  return member?.incarnation === incarnation ? member.role : null;
}

export interface Quorum {
  /** Replicas that answer. */
  readonly up: number;
  readonly voters: number;
  readonly votersUp: number;
  readonly needed: number;
}

/** How many replicas run and answer, and how many voters a decision needs. */
export function quorumOf(cluster: ClusterStatus): Quorum {
  const up = cluster.replicas.filter((replica) => freshStatus(replica) !== null);
  const voters = votersOf(cluster);
  const votersUp = up.filter((replica) => voters.has(replica.id) && countsNow(replica)).length;
  return { up: up.length, voters: voters.size, votersUp, needed: Math.floor(voters.size / 2) + 1 };
}

/** All replicas as long as nobody knows the members. */
function votersOf(cluster: ClusterStatus): ReadonlySet<string> {
  const members = newestMembership(cluster)?.members;
  if (members === undefined) return new Set(cluster.replicas.map(({ id }) => id));
  return new Set(members.filter(({ role }) => role === 'voter').map(({ replica }) => replica));
}

/** A replica that waits to be let in is another member than the voter that it was. */
function countsNow({ status }: ClusterReplica): boolean {
  return status !== null && status.state !== 'joining' && status.state !== 'logCorrupt';
}

/** True if without `id` too few voters would be left to let it in again: its log may be wiped, and that would be data loss. */
export function wipeLosesQuorum(cluster: ClusterStatus, id: string): boolean {
  const voters = votersOf(cluster);
  if (!voters.has(id)) return false;
  const others = cluster.replicas.filter(
    (replica) =>
      replica.id !== id && voters.has(replica.id) && freshStatus(replica) !== null && countsNow(replica),
  );
  return others.length < Math.floor(voters.size / 2) + 1;
}
