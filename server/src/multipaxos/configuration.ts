/**
 * Who the members are: names of incarnations, voters, and what each change makes of a configuration.
 *
 * Responsible for: pure functions of configurations. Decides nothing about when a change may be proposed (reconfigure.ts).
 * Invariants: one member for each replica; two configurations of consecutive versions differ by at most one voter; no incarnation
 * of a replica is ever used twice, not even when it is removed and added again: an incarnation's number is never above the version of
 * the configuration that admits it, and that of a replica that is added again begins there.
 */
import { replicasMax } from './quorum.ts';
import type { Effect } from './types/effects.ts';
import type { Configuration, ConfigurationChange, Member } from './types/members.ts';
import type { ReplicaId } from './types/names.ts';

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

/** Those that have been admitted: an expected replica is nobody yet. */
export function namesOf(members: readonly Member[]): ReplicaId[] {
  return members.filter(({ incarnation }) => incarnation > 0).map(nameOf);
}

/** How many voters one has and the other has not. */
export function votersDiffering(left: readonly Member[], right: readonly Member[]): number {
  const [ofLeft, ofRight] = [votersOf({ members: left }), votersOf({ members: right })];
  return (
    ofLeft.filter((name) => !ofRight.includes(name)).length +
    ofRight.filter((name) => !ofLeft.includes(name)).length
  );
}

type Refusal = Extract<Effect, { kind: 'reconfigured' }>['code'] &
  ('done' | 'unknownReplica' | 'exists' | 'tooMany');

/** What the members are after the change, or why there is nothing to change. */
export function membersAfter(
  { version, members }: Configuration,
  change: ConfigurationChange,
): readonly Member[] | Refusal {
  const member = members.find(({ replica }) => replica === change.replica);
  if (change.kind === 'add') {
    if (member !== undefined) return 'exists';
    if (members.length >= replicasMax) return 'tooMany';
    return sorted([...members, expected(change, version + 1)]);
  }
  if (member === undefined) return 'unknownReplica';
  const others = members.filter((other) => other !== member);
  if (change.kind === 'remove') return others;
  if (change.kind === 'join') {
    return hasJoined(member, change.nonce) ? 'done' : sorted([...others, joined(member, change)]);
  }
  if (member.incarnation !== change.incarnation || member.incarnation === 0) return 'unknownReplica';
  return member.role === 'voter' ? 'done' : sorted([...others, { ...member, role: 'voter' }]);
}

/** True if the member is the life of its replica that drew `nonce`. */
export function hasJoined(member: Member, nonce: string): boolean {
  return member.incarnation > 0 && member.nonce === nonce;
}

function expected({ replica, address }: ConfigurationChange & { kind: 'add' }, version: number): Member {
  return { replica, incarnation: 0, role: 'learner', nonce: String(version), address };
}

function joined(before: Member, { replica, nonce, address }: ConfigurationChange & { kind: 'join' }): Member {
  const first = before.nonce === '' ? 1 : Number(before.nonce);
  const incarnation = before.incarnation === 0 ? first : before.incarnation + 1;
  return { replica, incarnation, role: 'learner', nonce, address };
}

function sorted(members: Member[]): Member[] {
  return members.sort((left, right) => (left.replica < right.replica ? -1 : 1));
}
