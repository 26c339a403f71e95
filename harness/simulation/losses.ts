/**
 * Disks that are lost, and members that come and go.
 *
 * Responsible for: whom it hits, so that no more than a minority is lost at once whatever configuration comes into force next: the newest that a
 * survivor knows, and any that is chosen or proposed after it. A replica is lost from its wipe until it votes again and its database has what its log has forgotten.
 */
import { majority } from '../../server/src/multipaxos/quorum.ts';
import { isServing } from '../../server/src/multipaxos/step.ts';
import type { Member } from '../../server/src/multipaxos/types/members.ts';
import { address } from './options.ts';
import type { Loss } from './recovery.ts';
import type { SimulatedReplica } from './replica.ts';
import type { World } from './world.ts';

/** Fewer voters could not bear any loss. */
const votersMin = 2;

export function wipe(world: World): void {
  const { random, options, replicas } = world;
  const together = random.chance(options.faults.wipesTogether);
  for (const replica of random.shuffled(replicas)) {
    const loss = random.pick<Loss>(['log', 'database', 'both']);
    if (!replica.recovery.inService || !(options.faults.wipesMajorities || canLose(world, replica))) continue;
    replica.recovery.lose(loss);
    world.queue.after(random.unit() * options.faults.downMsMax, () => replica.start());
    if (!together) return;
  }
}

function canLose(world: World, replica: SimulatedReplica): boolean {
  return world.possibleMembers(replica).every((members) => {
    const lost = lostOf(world, members);
    if (members.some((member) => member.replica === replica.id)) lost.add(replica);
    const voters = members.filter(({ role }) => role === 'voter').length;
    return lost.size <= voters - majority(voters);
  });
}

function lostOf(world: World, members: readonly Member[]): Set<SimulatedReplica> {
  const newest = world.judge.members.newest();
  const isMember = ({ id }: SimulatedReplica): boolean => members.some((member) => member.replica === id);
  return new Set(world.replicas.filter((replica) => isMember(replica) && !replica.recovery.isWhole(newest)));
}

/** Adds a replica that is none, or takes a member away. Nobody is taken away while another is lost: too few might be left. */
export function changeMembers(world: World): void {
  const { random, replicas } = world;
  const leader = replicas.find(({ state }) => state !== null && isServing(state));
  if (leader === undefined) return;
  const { members } = leader.state!.configuration;
  const isMember = ({ id }: SimulatedReplica): boolean => members.some(({ replica }) => replica === id);
  const strangers = replicas.filter((replica) => !isMember(replica));
  if (strangers.length > 0 && random.chance(0.6)) {
    const stranger = random.pick(strangers);
    const code = leader.recovery.request({ kind: 'add', replica: stranger.id, address });
    if (code === 'proposed') stranger.recovery.recruit();
    return;
  }
  const voters = members.filter(({ role }) => role === 'voter').length;
  if (voters <= votersMin || world.possibleMembers(null).some((some) => lostOf(world, some).size > 0)) return;
  leader.recovery.request({ kind: 'remove', replica: random.pick(members).replica });
}
