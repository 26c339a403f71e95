/**
 * Changes of the members, as an operator asks for them: machines are added, and members removed, which is no fault, but falls together with what is.
 *
 * Responsible for: asking for no change that leaves a group without a majority when something is lost meanwhile.
 */
import type { Membership } from '../../server/src/replica/members/membership.ts';
import { addressOf } from '../../server/src/replica/testing/configurations.ts';
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';
import type { FaultScene } from './fault-scene.ts';

/** One whose loss the others can bear. */
const membersLeftMin = 2;

/** A machine that stands by, on an empty disk. */
export function add(scene: FaultScene): void {
  const { group, random } = scene;
  const leader = group.serving();
  const spares = group.machines.filter((machine) => !group.members.includes(machine));
  if (leader === null || spares.length === 0 || scene.changing) return;
  const spare = random.pick(spares);
  scene.clear(spare);
  const change = { kind: 'add', replica: spare.id, address: addressOf(spare.id) } as const;
  ask(scene, leader, change, () => {
    if (group.members.includes(spare)) scene.start(spare);
  });
}

/** It goes on running until somebody stops it. */
export function remove(scene: FaultScene, member: MemoryMember): void {
  const { group } = scene;
  const leader = group.serving();
  if (leader === null || !scene.mayLose(member)) return;
  if (group.members.length <= membersLeftMin) return;
  ask(scene, leader, { kind: 'remove', replica: member.id });
}

function ask(
  scene: FaultScene,
  leader: MemoryMember,
  change: Parameters<Membership['change']>[0],
  then: () => void = () => undefined,
): void {
  const asked = { leader, process: leader.process };
  scene.changing = true;
  scene.asked.add(asked);
  void leader.replica!.membership.change(change).then((outcome) => {
    scene.asked.delete(asked);
    scene.tell(`${change.replica} is ${change.kind === 'add' ? 'added' : 'removed'}: ${outcome}`);
    scene.changing = outcome === 'timedOut';
    then();
  });
}
