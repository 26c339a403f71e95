/**
 * What befalls a group in simulated time: faults by chance, each of which ends by itself, or when all are mended.
 *
 * Responsible for: which faults there are, and how often each strikes: that each run draws for itself, so that what only a few do together is not drowned by all the others.
 */
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { LogStoreError } from '../../server/src/ports/log-store.ts';
import type { Random } from '../../server/src/ports/testing/random.ts';
import type { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';
import { calm } from '../../server/src/replica/testing/memory-network.ts';
import { coreStories } from './core-stories.ts';
import { databaseStories } from './database-stories.ts';
import { FaultScene } from './fault-scene.ts';
import * as links from './link-faults.ts';
import * as machines from './machine-faults.ts';
import * as membership from './member-faults.ts';
import * as databases from './postgres-faults.ts';
import * as stories from './fault-stories.ts';

type Fault = (scene: FaultScene, member: MemoryMember) => void;

/** Weight 0: of mixes that name it only. Null: struck by its name only. */
const faults: readonly (readonly [weight: number | null, string, Fault])[] = [
  [3, 'the process dies', (scene, member) => scene.away(member, () => member.crash())],
  [3, 'the machine fails', (scene, member) => scene.away(member, () => member.crashMachine())],
  [2, 'all machines fail', machines.allFail],
  [3, 'PostgreSQL is killed', (_scene, { postgres }) => postgres.killMain()],
  [1, 'a backend is killed', (_scene, { postgres }) => postgres.crashBackend()],
  [2, 'PostgreSQL is stopped by a signal', (scene, member) => databases.stand(scene, member, 'stopped')],
  [1, 'PostgreSQL hangs', (scene, member) => databases.stand(scene, member, 'hanging')],
  [2, 'the process is stopped by a signal', machines.freeze],
  [3, 'is cut off', links.isolate],
  [2, 'is not heard', (scene, member) => links.cutOneWay(scene, member, 'is not heard')],
  [2, 'hears nothing', (scene, member) => links.cutOneWay(scene, member, 'hears nothing')],
  [2, 'does not reach one other', links.cutOneLink],
  [2, 'its links come and go', links.flap],
  [3, 'its standby is slow', (scene, member) => databases.slow(scene, member)],
  [2, 'all standbys are slow', (scene) => scene.group.members.forEach((one) => databases.slow(scene, one))],
  [1, 'a promotion does not end', databases.hangPromotion],
  [1, 'PostgreSQL does not start', (_scene, { postgres }) => void (postgres.failingStarts = 2)],
  [1, 'its waits are ended', databases.endWaits],
  [1, 'its log is full', machines.press],
  [1, 'its disk is full', machines.fill],
  [2, 'its disk is slow', (scene, member) => machines.slowDisk(scene, member)],
  [1, 'a write of its log fails', machines.failWrite],
  [1, 'stops in order', machines.stopInOrder],
  [1, 'a bit of its log turns', machines.rot],
  [1, 'loses its database', (scene, member) => machines.wipe(scene, member, 'database')],
  [1, 'loses its log', (scene, member) => machines.wipe(scene, member, 'log')],
  [1, 'loses both', (scene, member) => machines.wipe(scene, member, 'both')],
  [2, 'the leader alone is cut off', stories.leaderAlone],
  [1, 'the leader alone is cut off, and its waits are ended', stories.leaderAloneEndsWaits],
  [1, 'all machines fail behind slow disks', stories.allFailBehindSlowDisks],
  [1, 'only a slow standby is left to lead', stories.slowStandbyLeads],
  [1, 'the leader dies before a slow standby', stories.leaderDiesBeforeSlowStandby],
  [1, 'the leader comes back to a slow disk', stories.leaderReturnsToSlowDisk],
  [1, 'the leader comes back with more than is chosen', stories.leaderReturnsWithUnchosen],
  [1, 'a copy comes of a leader that dies', stories.copySourceDies],
  [1, 'the leader is lost to one, and then to all', stories.leaderLostByDegrees],
  [1, 'the leader dies while it removes another', stories.leaderDiesRemoving],
  [2, 'the leader hands over', stories.handOver],
  [1, 'the leader hands over, and somebody dies meanwhile', stories.handOverAndBack],
  [1, 'is added', membership.add],
  [1, 'is removed', membership.remove],
  [1, 'its clock changes its pace', (_scene, member) => member.drift()],
  [0, 'the leader dies, and others want to lead behind slow disks', stories.rivalsBehindSlowDisks],
  ...[...coreStories, ...databaseStories].map(([name, strike]): [null, string, Fault] => [
    null,
    name,
    strike,
  ]),
  // It takes what single faults leave behind: seldom a copy, or a directory that is looked at again.
  [null, 'the process dies as its directory says something else', machines.dieAtDirectory],
  // More than the product promises to survive.
  [null, 'clocks go too far apart', machines.driftTooFar],
  [null, 'a majority loses its logs', machines.loseMajority],
];

/** Of groups with archives. */
const archiveFaults: typeof faults = [[2, 'its archive fails', machines.failArchive]];

/** What can befall a group, `archives`: whose machines keep some, by the names that `only` takes. */
export function faultNames(archives: boolean): readonly string[] {
  return faultsWith(archives).map(([, name]) => name);
}

function faultsWith(archives: boolean): typeof faults {
  return archives ? [...faults, ...archiveFaults] : faults;
}

export interface FaultOptions {
  /** These strike, each as often as any; null: as often as is drawn. */
  readonly only: readonly string[] | null;
  /** Of these it is drawn; null: of all. */
  readonly among: readonly string[] | null;
  /** What a log that is full has, of its bound. */
  readonly fullLog: number;
  /** Machines keep archives. */
  readonly archives: boolean;
}

/** Copies take less. */
const othersMsMax = 60_000;
const lookMs = 50;

export class GroupFaults {
  private readonly scene: FaultScene;
  private readonly faults: typeof faults;
  private readonly weights: readonly number[];

  constructor(group: MemoryGroup, random: Random, { only, among, fullLog, archives }: FaultOptions) {
    this.faults = faultsWith(archives);
    this.scene = new FaultScene(group, random, fullLog);
    const unknown = [...(only ?? []), ...(among ?? [])].find(
      (name) => !this.faults.some(([, one]) => one === name),
    );
    if (unknown !== undefined) throw new Error(`there is no fault "${unknown}"`);
    this.weights = this.faults.map(([weight, name]) => {
      const often = weight === null ? 0 : random.pick([0, 1, 1, 4]);
      if (only !== null) return Number(only.includes(name));
      if (among === null) return often * (weight ?? 0);
      return among.includes(name) ? often * Math.max(weight ?? 0, 1) : 0;
    });
  }

  /** What has befallen it, for people. */
  get told(): readonly string[] {
    return this.scene.told;
  }

  tell(what: string): void {
    this.scene.tell(what);
  }

  /** One more. It strikes the leader as often as all others together. */
  strike(): void {
    const { scene, weights } = this;
    const { group, random } = scene;
    const serving = group.serving();
    const member = serving !== null && group.random.chance(0.4) ? serving : random.pick(group.members);
    const sum = weights.reduce((some, weight) => some + weight, 0);
    if (sum === 0) return;
    let left = random.below(sum);
    const [, name, fault] = this.faults[weights.findIndex((weight) => (left -= weight) < 0)]!;
    scene.tell(`${member.id}: ${name}`);
    fault(scene, member);
  }

  /** All that is still wrong is mended. Resolves when everybody runs. */
  async mend(): Promise<void> {
    const { scene } = this;
    const { network, machines: all, members, time } = scene.group;
    scene.tell('all is mended');
    scene.endAll();
    network.heal();
    network.weather = calm;
    // Those that were removed run on.
    for (const machine of all) {
      machine.postgres.failingStarts = 0;
      // Of a write that has failed a process may hear only when it writes the next time: the seal of a log that nobody wrote to.
      const hasFailed = scene.failing.has(machine.id) && !scene.rotten.has(machine.id);
      if (hasFailed && machine.logDisk.nextWriteError === null) machine.crash();
      machine.logDisk.nextWriteError = null;
      if (!machine.isRunning && members.includes(machine)) await machine.start();
    }
    for (const member of members) {
      if (!scene.rotten.has(member.id)) continue;
      // Since its log began to rot it may have become the only one with a database, which no group lets in without a leader.
      await time.passUntil(() => scene.hasDatabaseWithout(member), othersMsMax, lookMs);
      await machines.giveUp(member);
    }
    scene.wiped = null;
    scene.changing = false;
    scene.failing.clear();
    scene.rotten.clear();
  }

  /** Members that nobody knew of when all was mended. True: there are some. */
  async startOthers(): Promise<boolean> {
    const others = this.scene.group.members.filter(({ isRunning }) => !isRunning);
    for (const member of others) await member.start();
    return others.length > 0;
  }

  get areMembersSettled(): boolean {
    return this.scene.areMembersSettled;
  }

  /** Of what ends a process: true if that is what a disk did. One that is full ends a process only while that opens its log: what runs waits for space. */
  excuses(id: ReplicaId, error: Error): boolean {
    const { scene } = this;
    if (!(error instanceof LogStoreError)) return false;
    const { logDisk, process } = scene.group.member(id);
    const isFull = error.code === 'logFull' && Number.isFinite(logDisk.freeBytes) && process?.log === null;
    const hasFailed = error.code === 'logFailed' || error.code === 'logCorrupt';
    if (!isFull && !(hasFailed && scene.failing.has(id))) return false;
    scene.tell(`${id}: its process ends: ${error.message}`);
    return true;
  }
}
