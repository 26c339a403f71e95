/**
 * Waiting until a replica is a member of the group, or votes in it, or is none any more.
 *
 * Responsible for: when to look again, and for how long. Changes nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { GroupMembers } from './group-members.ts';

type Member = GroupMembers['members'][number];

export interface MemberWait {
  /** Undefined: it is no member. */
  readonly isSo: (member: Member | undefined, group: GroupMembers) => boolean;
  readonly replica: string;
  /** What an older configuration says is of an earlier replica with that name. */
  readonly sinceVersion: number;
  readonly look: () => Promise<GroupMembers | null>;
  readonly onLook?: (member: Member | undefined) => void;
  readonly everyMs: number;
  readonly msMax: number;
  /** Gives it up: false. */
  readonly signal?: AbortSignal;
}

/** False: it is not so in time. */
export async function untilMember(wait: MemberWait): Promise<boolean> {
  const { isSo, replica, sinceVersion, look, onLook, everyMs, msMax, signal } = wait;
  const untilMs = performance.now() + msMax;
  const isGivenUp = (): boolean => signal?.aborted === true;
  for (;;) {
    const group = await look();
    if (isGivenUp()) return false;
    if (group !== null && group.version >= sinceVersion) {
      const member = group.members.find((each) => each.replica === replica);
      if (isSo(member, group)) return true;
      onLook?.(member);
    }
    if (performance.now() > untilMs) return false;
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    if (isGivenUp()) return false;
  }
}
