/** Who is in the demo's group now, as its replicas say when they are asked for it. Responsible for: whose word counts. The newest configuration that is known to be chosen does. */
import type { MembershipStatus } from '../api/status.ts';
import { freshMs } from './cluster-report.ts';
import type { Supervisor } from './supervisor.ts';

export interface GroupMembers extends MembershipStatus {
  /** Somebody leads, who can be asked for a change. */
  readonly isLed: boolean;
}

/** Null: no replica answers. */
export async function lookAtMembers(
  supervisor: Pick<Supervisor, 'refresh' | 'cluster'>,
): Promise<GroupMembers | null> {
  await supervisor.refresh();
  const told = supervisor.cluster().flatMap(({ process, status, ageMs }) => {
    const isFresh = process === 'running' && (ageMs ?? Infinity) <= freshMs;
    return isFresh && status !== null && status.membership.members.length > 0 ? [status] : [];
  });
  const [newest] = told.map(({ membership }) => membership).toSorted((a, b) => b.version - a.version);
  if (newest === undefined) return null;
  return { ...newest, isLed: told.some(({ role, state }) => role === 'leader' && state === 'serving') };
}
