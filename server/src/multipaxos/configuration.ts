/**
 * Who the members are: names of incarnations, voters, and what each change makes of a configuration.
 *
 * Responsible for: pure functions of configurations. Decides nothing about when a change may be proposed (leader.ts).
 * Invariants: one member for each replica; two configurations of consecutive versions differ by at most one voter.
 */
import type { Configuration, Member, ReplicaId } from './types.ts';

/** `r2` for the first incarnation of replica r2, `r2.3` for the third, `r2.0` for one that has not been admitted yet. */
export function memberName(replica: ReplicaId, incarnation: number): ReplicaId {
  return incarnation === 1 ? replica : (`${replica}.${incarnation}` as ReplicaId);
}

/** The replica that a name of an incarnation belongs to. Names of replicas hold no dot. */
export function replicaOf(name: ReplicaId): ReplicaId {
  const dot = name.lastIndexOf('.');
  return dot === -1 ? name : (name.slice(0, dot) as ReplicaId);
}

export function incarnationOf(name: ReplicaId): number {
  const dot = name.lastIndexOf('.');
  return dot === -1 ? 1 : Number(name.slice(dot + 1));
}

export function nameOf(member: Member): ReplicaId {
  return memberName(member.replica, member.incarnation);
}

export function votersOf({ members }: Pick<Configuration, 'members'>): ReplicaId[] {
  return members.filter(({ role }) => role === 'voter').map(nameOf);
}
