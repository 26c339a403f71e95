/**
 * Who takes part in behaviours that are replayed: the names behind the spec's numbers, and the members behind its voters.
 *
 * The spec knows voters only. Three replicas found the group; number 4 is the next life of r3, which it replaces: where r3 does not vote any more, its next
 * life is a member, at first as a learner. So the voters name the members, and the difference between two sets of voters the change. Pure.
 */
import { memberName, nameOf, votersOf } from '../../../server/src/multipaxos/configuration.ts';
import type {
  Configuration,
  ConfigurationChange,
  Member,
} from '../../../server/src/multipaxos/types/members.ts';
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';

const address = { host: '', port: 1, pgwire: { host: '', port: 1 } };
const nonce = 'next life';

function memberOf(number: number): Member {
  const of = { role: 'voter', address } as const;
  if (number === 4) return { replica: 'r3' as ReplicaId, incarnation: 2, nonce, ...of };
  return { replica: `r${number}` as ReplicaId, incarnation: 1, nonce: '', ...of };
}

export function nameOfNumber(number: number): ReplicaId {
  return nameOf(memberOf(number));
}

/** @param voters numbers of the spec */
export function membersOf(voters: readonly number[]): Member[] {
  const members = [...voters].sort((a, b) => a - b).map(memberOf);
  if (members.every(({ replica }) => replica !== 'r3'))
    members.push({ ...memberOf(4), role: 'learner' as const });
  return members;
}

export const founding: Configuration = { version: 1, slot: 0 as Slot, members: membersOf([1, 2, 3]) };

/** What makes these members of those of `before`. */
export function changeTo(before: Configuration, members: readonly Member[]): ConfigurationChange {
  const [had, has] = [votersOf(before), votersOf({ members })];
  const added = has.find((name) => !had.includes(name));
  if (added !== undefined) return { kind: 'promote', replica: 'r3' as ReplicaId, incarnation: 2 };
  const replica = had.find((name) => !has.includes(name)) as ReplicaId;
  return replica === memberName('r3' as ReplicaId, 1)
    ? { kind: 'join', replica, nonce, address }
    : { kind: 'remove', replica };
}
