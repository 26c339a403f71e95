/**
 * Stories of the protocol core: faults of more than one act that lead to where one of its rules alone keeps the group right. Each is struck by its name only, and meets that place in some of its runs.
 *
 * Responsible for: losing no more than a majority can bear. All that is left of one ends by itself, or when all is mended.
 */
import { compareBallots } from '../../server/src/multipaxos/ballot.ts';
import type { CoreSnapshot } from '../../server/src/multipaxos/types/trace.ts';
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';
import type { FaultScene } from './fault-scene.ts';
import { lasting, storyMsMax, when, type Story } from './fault-stories.ts';
import { remove } from './member-faults.ts';

/** How many times as long a disk takes that has to be waited for. */
const slowDiskTimes = 200;
/** Longer than anything is left alone. Who knows of no leader waits for one before it has a copy from another. */
const untilMendedMs = 20_000;

/** A follower promises another what the leader has not heard of, and is told by that one of its entries afterwards. */
const heardAfterPromise: Story = (scene, leader, [late, other]) => {
  const { network, ids } = scene.group;
  const { electionTimeoutMaxMs } = leader.config.timings;
  holdUp(scene, leader, late!, { delayMs: Math.min(1.5 * electionTimeoutMaxMs, storyMsMax - 1000) });
  for (const id of ids) {
    if (id !== leader.id) scene.until(storyMsMax, network.cut(id, leader.id));
    if (id !== leader.id && id !== late!.id) scene.until(storyMsMax, network.cut(leader.id, id));
  }
  // What the next leader has chosen would settle the slots of the last one.
  const hasPromised = (): boolean => other!.process?.assembled?.core.snapshot().role === 'leader';
  when(scene, hasPromised, () => scene.until(storyMsMax, network.isolate(other!.id, [late!.id])));
};

/** What a follower has acknowledged is under way until the leader has nearly given up; the follower keeps its word no longer than it gave it. */
const lateAcknowledgement: Story = (scene, leader, [follower, ...others]) => {
  const { network } = scene.group;
  const { electionTimeoutMaxMs, heartbeatMs } = leader.config.timings;
  for (const other of others) scene.until(storyMsMax, network.isolate(leader.id, [other.id]));
  holdUp(scene, follower!, leader, { delayMs: 0.8 * electionTimeoutMaxMs });
  scene.next(2 * heartbeatMs, () => scene.until(storyMsMax, network.cut(leader.id, follower!.id)));
};

/** Two leaders, one after the other, propose in the same slots, and each is alone when it has: the second with what is chosen, of which its voters do not hear. The first one then asks those. */
const twoLeadersLeftAlone: Story = (scene, leader, others) => {
  const { network, ids } = scene.group;
  const { leaseMs, electionTimeoutMinMs } = leader.config.timings;
  let mends = others.map(({ id }) => network.cut(leader.id, id));
  scene.until(storyMsMax, () => mends.forEach((mend) => mend()));
  for (const { logDisk } of others) {
    logDisk.slowness = slowDiskTimes;
    scene.until(storyMsMax, () => (logDisk.slowness = 1));
  }
  // It learns of the next ballot, or its first question would be of too low a one, and hears of no entry.
  const first = coreOf(leader)!.ballot;
  const hasHeard = (): boolean => compareBallots(coreOf(leader)?.promised ?? first, first) > 0;
  when(scene, hasHeard, () => {
    mends = [...mends, ...others.map(({ id }) => network.cut(id, leader.id))];
  });
  const next = (): MemoryMember | undefined => others.find((other) => coreOf(other)?.role === 'leader');
  const isNext = (): boolean => next() !== undefined;
  when(scene, isNext, () => {
    const second = next()!;
    // Its entries are with the others, and on nobody's disk yet.
    scene.next(20, () => {
      scene.until(storyMsMax, network.isolate(second.id, ids));
      mends.forEach((mend) => mend());
      for (const { process, logDisk } of others) {
        logDisk.slowness = 1;
        if (process === second.process) continue;
        // When it goes on it may promise again, and has not waited for long enough to ask by itself.
        process?.timers.stop();
        scene.until((leaseMs + electionTimeoutMinMs) / 2, () => process?.timers.goOn());
      }
    });
  });
};

/** One has what a leader proposed, and hears of the next leader when that dies. */
const tailOfOne: Story = (scene, leader, [keeper, ...others]) => {
  const { network, ids } = scene.group;
  for (const { id } of others) scene.until(storyMsMax, network.isolate(leader.id, [id]));
  const mendKeeper = network.isolate(
    keeper!.id,
    ids.filter((id) => id !== leader.id),
  );
  scene.until(storyMsMax, mendKeeper);
  scene.until(storyMsMax, network.cut(keeper!.id, leader.id));
  scene.next(0.6 * leader.config.timings.leaseMs, () => dies(scene, leader));
  const next = (): MemoryMember | undefined => others.find((other) => coreOf(other)?.role === 'leader');
  when(
    scene,
    () => next() !== undefined,
    () => {
      const second = next()!;
      mendKeeper();
      const isFollowed = (): boolean => {
        const [core, followed] = [coreOf(keeper!), coreOf(second)];
        return core !== null && followed !== null && compareBallots(core.promised, followed.ballot) >= 0;
      };
      when(scene, isFollowed, () => dies(scene, second));
    },
  );
};

/** One comes back without its database, and hears of a change of the members by nothing but the copy of another's. */
const copyTellsMembers: Story = (scene, leader, [target, leaving, ...others]) => {
  const { network, ids } = scene.group;
  if (others.length === 0 || !scene.mayLose(target!)) return;
  const mend = network.isolate(target!.id, ids);
  scene.until(storyMsMax, mend);
  remove(scene, leaving!);
  when(
    scene,
    () => !scene.changing,
    () => {
      scene.wiped = target!.id;
      target!.crashMachine();
      target!.lose('database');
      for (const one of [leader, leaving!, ...others])
        holdUp(scene, one, target!, { drop: 1, ms: untilMendedMs });
      mend();
      scene.start(target!);
    },
  );
};

export const coreStories: readonly (readonly [name: string, strike: (scene: FaultScene) => void])[] = [
  ['the leader is heard after a promise to another', lasting(storyMsMax, heardAfterPromise)],
  ['an acknowledgement is late', lasting(storyMsMax, lateAcknowledgement)],
  ['two leaders are left alone', lasting(storyMsMax, twoLeadersLeftAlone)],
  ['one has the tail of a leader', lasting(storyMsMax, tailOfOne)],
  ['a copy tells of the members', lasting(untilMendedMs, copyTellsMembers)],
];

/** For as long as the story takes. */
function dies(scene: FaultScene, member: MemoryMember): void {
  member.crash();
  scene.until(storyMsMax, () => scene.start(member));
}

function coreOf({ process }: MemoryMember): CoreSnapshot | null {
  return process?.assembled?.core.snapshot() ?? null;
}

/** Messages only: a copy goes over a link that loses them, too. */
function holdUp(
  scene: FaultScene,
  { id: from, process }: MemoryMember,
  { id: to }: MemoryMember,
  { ms = storyMsMax, ...what }: { readonly delayMs?: number; readonly drop?: number; readonly ms?: number },
): void {
  const healthy = { from, to, cut: false, delayMs: 0, drop: 0, duplicate: 0 };
  process?.transport.setFault({ ...healthy, ...what });
  scene.until(ms, () => process?.transport.setFault(healthy));
}
