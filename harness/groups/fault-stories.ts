/**
 * Faults of more than one act, each aimed at a moment that single ones seldom meet. They strike the leader, whoever that is, and one at a time.
 *
 * Responsible for: losing no more than the single ones do. All that is left of one ends by itself, or when all is mended.
 */
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';
import type { FaultScene } from './fault-scene.ts';
import { allFail, freeze, slowDisk } from './machine-faults.ts';
import { remove } from './member-faults.ts';
import { endWaits, slow, stand } from './postgres-faults.ts';

/** How many times as long a disk or a standby takes that has to be waited for. */
const slowDiskTimes = 200;
const slowStandbyTimes = 300;

const lookMs = 5;
export const storyMsMax = 5000;

/** `others` in any order. */
export type Story = (scene: FaultScene, leader: MemoryMember, others: readonly MemoryMember[]) => void;

/** For `ms` no other story begins. */
export function lasting(ms: number, story: Story): (scene: FaultScene) => void {
  return (scene) => {
    const { group, random } = scene;
    const leader = group.serving();
    // Of one member there is none to tell.
    if (leader === null || group.members.length === 1 || !scene.beginStory(ms)) return;
    story(scene, leader, random.shuffled(group.members.filter((member) => member !== leader)));
  };
}

function leaveAlone(scene: FaultScene, { id }: MemoryMember): void {
  const { group, random } = scene;
  scene.until(1500 + random.next() * 4500, group.network.isolate(id, group.ids));
}

/** The others are well, and elect another, while clients are left at both. */
export const leaderAlone = lasting(4000, leaveAlone);

/** It shows what nobody will choose, and comes back with it. */
export const leaderAloneEndsWaits = lasting(4000, (scene, leader) => {
  leaveAlone(scene, leader);
  endWaits(scene, leader);
});

/** What is on its way to the disks is lost everywhere at once; what is on one of them only may be, too. */
export const allFailBehindSlowDisks = lasting(2500, (scene, leader, others) => {
  for (const member of [leader, ...others])
    if (scene.random.chance(0.8)) slowDisk(scene, member, slowDiskTimes);
  scene.next(scene.random.next() * 1500, () => allFail(scene));
});

/** Others want to lead at once: who is not sure of its own promise yet rejects those of lower ballots. */
export const rivalsBehindSlowDisks = lasting(2500, (scene, leader, others) => {
  for (const other of others) slowDisk(scene, other, slowDiskTimes);
  scene.away(leader, () => leader.crash());
});

/** One standby has much to replay, and nobody else can be promoted when the leader goes. */
export const slowStandbyLeads = lasting(4000, (scene, leader, [slowOne, ...others]) => {
  slow(scene, slowOne!, slowStandbyTimes);
  scene.next(200 + scene.random.next() * 1500, () => {
    for (const other of others) stand(scene, other, 'stopped');
    scene.away(leader, () => leader.crash());
  });
});

/** One standby knows of the next leadership long before it has replayed what was of the last one. */
export const leaderDiesBeforeSlowStandby = lasting(3000, (scene, leader, [slowOne]) => {
  slow(scene, slowOne!, slowStandbyTimes);
  scene.next(200 + scene.random.next() * 800, () => scene.away(leader, () => leader.crash()));
});

/** It has been replaced, and what it voted for in vain is in its log for as long as its disk takes to write what was chosen instead. */
export const leaderReturnsToSlowDisk = lasting(5000, (scene, leader, others) => {
  const { group, random } = scene;
  const mend = group.network.isolate(leader.id, group.ids);
  scene.until(storyMsMax, mend);
  // Else it has given up by itself, mostly.
  const { process } = leader;
  scene.next(100, () => process?.timers.stop());
  scene.until(storyMsMax, () => process?.timers.goOn());
  const isReplaced = (): boolean => others.some(({ replica }) => replica?.service.service().kind === 'here');
  when(scene, isReplaced, () => {
    slowDisk(scene, leader, slowDiskTimes);
    mend();
    scene.next(random.next() * 400, () => process?.timers.goOn());
  });
});

/** What its PostgreSQL wrote while its process could not propose anything is there when it leads again, as nobody else can be promoted. */
export const leaderReturnsWithUnchosen = lasting(4000, (scene, leader, others) => {
  for (const other of others) stand(scene, other, 'stopped');
  freeze(scene, leader);
  scene.next(20 + scene.random.next() * 300, () => scene.away(leader, () => leader.crash(), 300));
});

/** A copy has nobody else to come from than a leader whose WAL is not chosen for a long time, and which dies when the copy is there. */
export const copySourceDies = lasting(5000, (scene, leader, [target, ...others]) => {
  if (!scene.mayLose(target!)) return;
  scene.wiped = target!.id;
  target!.crashMachine();
  target!.lose('database');
  for (const other of others) stand(scene, other, 'stopped');
  scene.next(scene.random.next() * 300, () => scene.start(target!));
  const { network } = scene.group;
  const before = network.copiesAsked.length;
  const isAsked = (): boolean => network.copiesAsked.includes(leader.id, before);
  when(scene, isAsked, () => {
    for (const other of [target!, ...others]) slowDisk(scene, other, slowDiskTimes);
    scene.next(50 + scene.random.next() * 1000, () => scene.away(leader, () => leader.crashMachine()));
  });
});

/** One asks the other for leadership while the leader still counts on that one, which may just have begun anew and know of nothing that it has granted. */
export const leaderLostByDegrees = lasting(6000, (scene, leader, [heard, lost]) => {
  const { group, random } = scene;
  if (lost === undefined) return;
  scene.until(storyMsMax, group.network.isolate(lost.id, [leader.id]));
  const restarts = random.chance(0.5);
  scene.next(1000 + random.next() * 2000, () => {
    scene.until(storyMsMax, group.network.isolate(leader.id, group.ids));
    if (!restarts) return;
    heard!.crash();
    scene.next(random.next() * 20, () => scene.start(heard!));
  });
});

/** As an operator asks for it, to whoever is readiest. */
export function handOver(scene: FaultScene): void {
  const { group, random } = scene;
  const leader = group.serving();
  if (leader === null) return;
  const transactionMs = random.next() * 100;
  void leader.replica!.handingOver.run({ to: null, transactionMs }).then((outcome) => {
    scene.tell(`${leader.id} hands over: ${outcome.code === 'done' ? outcome.leader : outcome.code}`);
  });
}

/** Messages that tell so are late, or come twice, while it is cut off or stands again, and what was said of its word with them. */
export const handOverAndBack = lasting(4000, (scene, leader, [other]) => {
  handOver(scene);
  const { random } = scene;
  scene.next(random.next() * 300, () => handOver(scene));
  if (random.chance(0.5))
    scene.next(random.next() * 100, () => scene.away(leader, () => leader.crash(), 500));
  else scene.next(random.next() * 100, () => scene.away(other!, () => other!.crash(), 500));
});

/** Whoever takes over has to find out who the members are. */
export const leaderDiesRemoving = lasting(3000, (scene, leader, [other]) => {
  remove(scene, other!);
  scene.next(scene.random.next() * 40, () => scene.away(leader, () => leader.crash(), 2000));
});

/** As soon as it holds, if it does so soon enough. */
export function when(scene: FaultScene, holds: () => boolean, act: () => void): void {
  const stop = scene.group.time.every(lookMs, () => {
    if (!holds()) return;
    stop();
    act();
  });
  scene.until(storyMsMax, stop);
}
