/**
 * What operators do to a cluster that runs: a member is taken away for good, and a machine without a disk of its own takes its place.
 *
 * Counts as the loss of a disk from the removal until the new one votes: meanwhile the group has one voter less to lose.
 */
import type { MembersRequest, MembershipStatus } from '../../server/src/api/status.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { untilHealed } from './disk-faults.ts';
import {
  claimLoss,
  freshStatus,
  replicasNow,
  Skipped,
  sleep,
  untilTrue,
  type Begun,
  type Scene,
} from './scene.ts';
import { nameOf } from './safety.ts';
import type { PlannedFault } from './schedule.ts';

const removeMsMax = 30_000;
/** As long as a disk that was lost may take to be replaced: the member must come back. */
const addMsMax = 120_000;
const requestMsMax = 10_000;

export async function replaceMember(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id, status } = await claimLoss(scene, planned, true);
  const replica = id as ReplicaId;
  const member = status.membership.members.find((each) => nameOf(each.replica) === id);
  if (member === undefined) throw new Skipped(`${id} does not know itself as a member`);
  const remove = { action: 'remove', replica } as const;
  const removed = await change(scene, remove, removeMsMax, (members) => !has(members, id));
  if (!removed) {
    scene.losses.delete(id);
    throw new Skipped('nobody could carry the removal out');
  }
  return {
    what: `${id} removed from the members`,
    tookEffect: true,
    end: async () => {
      const add = { action: 'add', replica, address: member.address } as const;
      if (!(await change(scene, add, addMsMax, (members) => has(members, id)))) {
        scene.anomalies.push({
          kind: 'not-added',
          summary: `${id} could not be made a member again`,
          detail: [],
        });
        return;
      }
      await scene.cluster.fault({ action: 'wipe', replica, what: 'both' });
      await untilHealed(scene, id);
    },
  };
}

function has({ members }: MembershipStatus, id: string): boolean {
  return members.some(({ replica }) => nameOf(replica) === id);
}

/** Asks until a leader shows the members as they are to be: an answer may be lost, so what is there counts. */
async function change(
  scene: Scene,
  request: MembersRequest,
  timeoutMs: number,
  isDone: (membership: MembershipStatus) => boolean,
): Promise<boolean> {
  return untilTrue(timeoutMs, async () => {
    await ask(scene, request).catch(() => {});
    await sleep(300);
    const leader = (await replicasNow(scene)).map(freshStatus).find((status) => status?.role === 'leader');
    return leader != null && isDone(leader.membership);
  });
}

async function ask({ cluster, say }: Scene, request: MembersRequest): Promise<void> {
  const response = await fetch(`${cluster.dashboardUrl}/api/members`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(requestMsMax),
  });
  if (!response.ok) say(`  (${request.action} ${request.replica}: ${(await response.text()).slice(0, 300)})`);
}
