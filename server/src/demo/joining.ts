/**
 * A replica that was started and does not vote yet, in whose place another one may go: what is waited for, how that ends, and what people are told of it.
 *
 * Pure but for the looks at the members, which it is given. Changes nothing: replica-changes.ts does.
 */
import type { ReplicaChangeStatus } from '../api/replica-changes.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { GroupMembers } from './group-members.ts';
import { type MemberWait, untilMember } from './until-member.ts';

/** Until `added` votes; then `replaced` goes. */
export interface Join {
  readonly added: ReplicaId;
  readonly replaced: ReplicaId | null;
  /** Of the first configuration that can tell of it: a chosen one from there on that does not have it has it no more. */
  readonly sinceVersion: number;
}

export type JoinEnd = 'votes' | 'gone' | 'late';

/** Somebody who leads says that it is a voter, or no member; or time is over, or it was given up: `late`. */
export async function untilJoined(
  { added, replaced, sinceVersion }: Join,
  wait: Omit<MemberWait, 'isSo' | 'replica' | 'sinceVersion'>,
): Promise<JoinEnd> {
  let isGone = false;
  const isOver = await untilMember({
    ...wait,
    replica: added,
    sinceVersion,
    isSo: (member, { isLed }) => {
      isGone = isLed && member === undefined;
      // Whoever is to go is removed by the one who leads.
      return isGone || (member?.role === 'voter' && (replaced === null || isLed));
    },
  });
  if (!isOver) return 'late';
  return isGone ? 'gone' : 'votes';
}

export function joining(
  { added, replaced }: Join,
  member: GroupMembers['members'][number] | undefined,
): ReplicaChangeStatus {
  const now =
    member === undefined || member.incarnation === 0
      ? `${added} was started, and is expected`
      : `${added} is a learner: it copies a database and catches up`;
  const then = replaced === null ? 'then it votes' : `when it votes, ${replaced} goes`;
  return { state: 'joining', text: `${now}; ${then}.`, added, replaced };
}

export function lateText({ added, replaced }: Join, msMax: number): string {
  const late = `${added} does not vote after ${Math.round(msMax / 60_000)} minutes: its output says why.`;
  return replaced === null ? late : `${late} ${replaced} was not removed.`;
}

export function goneText({ added, replaced }: Join): string {
  const gone = `${added} is no member, though it was to be one: it was removed, or never let in.`;
  const kept = replaced === null ? '' : ` ${replaced} was not removed; replace it again if it is to go.`;
  return `${gone}${kept} What is left of ${added} here goes when it is removed.`;
}

export function checkedText({ added, replaced }: Join): string {
  const was = replaced === null ? `${added} is to vote` : `${added} is to replace ${replaced}`;
  return `${was}: that does not go on with --check. Start without it.`;
}
