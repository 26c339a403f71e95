/** What befalls one replica's process, its machine and the disk under its log. */
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';
import type { FaultScene } from './fault-scene.ts';

/** A disk that is slow takes so many times as long. */
const slownesses = [20, 200] as const;

/** How long after it begins to write at most. */
const dyingMs = [4, 60] as const;

export function allFail(scene: FaultScene): void {
  for (const member of scene.group.members) scene.away(member, () => member.crashMachine());
}

/** A process may have done what it has told nobody, or told what it has not done: just as its directory comes to say something else, or a little later, as its PostgreSQL comes up. */
export function dieAtDirectory(scene: FaultScene, member: MemoryMember): void {
  const { process } = member;
  if (process === null) return;
  const { directory } = process;
  const write = directory.write.bind(directory);
  directory.write = (state) => {
    if (state.role.kind === member.postgres.disk.state?.role.kind) return write(state);
    directory.write = write;
    const ms = scene.random.next() * scene.random.pick(dyingMs);
    scene.next(ms, () => {
      if (member.process === process) scene.away(member, () => member.crash(), 500);
    });
    return write(state);
  };
}

/** More than the product promises to survive. */
export function loseMajority(scene: FaultScene): void {
  const { members } = scene.group;
  for (const member of scene.random.shuffled(members).slice(0, Math.floor(members.length / 2) + 1)) {
    member.crashMachine();
    member.lose('log');
    scene.later(() => scene.start(member));
  }
}

/** Further apart than leases allow for: the others keep their word for a quarter of the time that the leader counts on. */
export function driftTooFar(scene: FaultScene): void {
  const { group } = scene;
  const leader = group.serving();
  if (leader === null) return;
  scene.later(group.network.isolate(leader.id, group.ids), 8000);
  for (const member of group.members) if (member !== leader) member.process?.timers.goAt(4);
}

export function freeze(scene: FaultScene, { process }: MemoryMember): void {
  if (process === null) return;
  process.timers.stop();
  scene.later(() => process.timers.goOn());
}

export function fill(scene: FaultScene, { logDisk }: MemoryMember): void {
  logDisk.freeBytes = scene.random.below(40_000);
  scene.later(() => {
    logDisk.freeBytes = Number.POSITIVE_INFINITY;
  });
}

export function failArchive(scene: FaultScene, { archive }: MemoryMember): void {
  if (archive === null) return;
  archive.disk.isFailing = true;
  scene.later(() => {
    archive.disk.isFailing = false;
  });
}

export function slowDisk(
  scene: FaultScene,
  { logDisk }: MemoryMember,
  slowness: number = scene.random.pick(slownesses),
): void {
  logDisk.slowness = slowness;
  scene.later(() => {
    logDisk.slowness = 1;
  });
}

export function failWrite(scene: FaultScene, member: MemoryMember): void {
  if (!member.isRunning) return;
  member.logDisk.nextWriteError = 'EIO';
  scene.failing.add(member.id);
  scene.later(() => scene.start(member));
}

/** Of a log that is sealed: what was written last before a crash cannot be told from a torn write. */
export function rot(scene: FaultScene, member: MemoryMember): void {
  if (!member.logDisk.hasLog || !scene.mayLose(member)) return;
  scene.wiped = member.id;
  scene.failing.add(member.id);
  scene.rotten.add(member.id);
  scene.away(
    member,
    () => void member.crashSealed().then(() => scene.tell(`${member.id}: ${member.logDisk.rot()}`)),
  );
}

/** Whoever runs it takes its log for lost, whether that has been noticed or not. */
export async function giveUp(member: MemoryMember): Promise<void> {
  member.crash();
  member.lose('log');
  await member.start();
}

export function press(scene: FaultScene, member: MemoryMember): void {
  member.logBytesSaid = scene.fullLog * member.logBytesMax;
  scene.later(() => {
    member.logBytesSaid = null;
  });
}

export function stopInOrder(scene: FaultScene, member: MemoryMember): void {
  const { process } = member;
  if (process === null || process.timers.stopped) return;
  void member.stop();
  // Whoever has waited long enough for it kills it.
  scene.later(() => {
    if (member.process === process) member.crash();
    scene.start(member);
  }, 12_000);
}

export function wipe(scene: FaultScene, member: MemoryMember, what: 'log' | 'database' | 'both'): void {
  if (!scene.mayLose(member)) return;
  scene.wiped = member.id;
  scene.away(member, () => {
    member.crashMachine();
    member.lose(what);
  });
}
