/**
 * The nemesis: causes the faults that the options name, at random times, until it is stopped.
 *
 * Responsible for: partitions, crashes and restarts, database kills, pauses, step-downs and changes of clock rate. Wipes and changes of
 * the members: losses.ts. Loss, slow disks and torn writes are in the network and the disk.
 */
import { changeMembers, wipe } from './losses.ts';
import type { SimulatedReplica } from './replica.ts';
import type { World } from './world.ts';

export class Nemesis {
  private readonly world: World;
  private stopped = false;

  constructor(world: World) {
    this.world = world;
    const { faults, clocks } = world.options;
    this.every(faults.partitionIntervalMsMean, () => this.partition());
    this.every(faults.crashIntervalMsMean, () => this.crash());
    this.every(faults.databaseKillIntervalMsMean, () => this.killDatabase());
    this.every(faults.pauseIntervalMsMean, () =>
      this.anyone().pause(world.random.unit() * faults.pauseMsMax),
    );
    this.every(faults.stepDownIntervalMsMean, () => this.anyone().stepDown());
    this.every(faults.logPressureIntervalMsMean, () => this.anyone().feelLogPressure());
    this.every(faults.wipeIntervalMsMean, () => wipe(world));
    this.every(faults.membershipIntervalMsMean, () => changeMembers(world));
    if (clocks.driftMax > 0) this.every(clocks.driftIntervalMsMean, () => this.drift());
  }

  /** Heals everything: links, processes, databases. */
  stop(): void {
    this.stopped = true;
    this.world.network.behave();
    for (const replica of this.world.replicas) {
      replica.wake();
      if (replica.recovery.inService) replica.start();
      replica.reviveDatabase();
    }
  }

  private every(intervalMsMean: number, action: () => void): void {
    if (intervalMsMean <= 0) return;
    this.world.queue.after(this.world.random.exponential(intervalMsMean), () => {
      if (this.stopped) return;
      action();
      this.every(intervalMsMean, action);
    });
  }

  private anyone(): SimulatedReplica {
    return this.world.random.pick(this.world.replicas);
  }

  /** Replaces an earlier partition. */
  private partition(): void {
    const { network, random, options, queue } = this.world;
    network.mend();
    if (random.chance(options.faults.brokenLinks)) this.breakLinks();
    else this.split();
    queue.after(random.unit() * options.faults.partitionMsMax, () => network.mend());
  }

  /** Each direction of each link by itself: who reaches whom need not be transitive. */
  private breakLinks(): void {
    const { network, random, replicas } = this.world;
    for (const sender of replicas) {
      for (const receiver of replicas) if (random.chance(0.35)) network.cut(sender.id, receiver.id);
    }
  }

  /** Splits the group in two, or cuts only what one side says to the other. */
  private split(): void {
    const { network, random, replicas, options } = this.world;
    const oneWay = random.chance(options.faults.oneWay);
    const isLeft = replicas.map(() => random.chance(0.5));
    for (const [from, sender] of replicas.entries()) {
      for (const [to, receiver] of replicas.entries()) {
        if (isLeft[from] === isLeft[to] || (oneWay && isLeft[from] === true)) continue;
        network.cut(sender.id, receiver.id);
      }
    }
  }

  private crash(): void {
    const { random, queue, options } = this.world;
    const replica = this.anyone();
    if (!replica.alive) return;
    replica.crash();
    queue.after(random.unit() * options.faults.downMsMax, () => replica.start());
  }

  private killDatabase(): void {
    const { random, queue, options } = this.world;
    const replica = this.anyone();
    replica.killDatabase();
    queue.after(random.unit() * options.faults.databaseDownMsMax, () => replica.reviveDatabase());
  }

  /** Rates between 1 and 1 + driftMax; half of the time one of the two. */
  private drift(): void {
    const { random, options } = this.world;
    const share = random.chance(0.5) ? random.below(2) : random.unit();
    this.anyone().clock.setRate(1 + share * options.clocks.driftMax);
  }
}
