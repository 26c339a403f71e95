/**
 * What a simulated replica does when its log or its database is gone.
 *
 * Responsible for: losing them; asking to join with a nonce of this life and taking on the incarnation that it is given; answering those who
 * ask; fetching a copy of another's database. A replica without a log never makes one under a name that it had, but for the planted bugs.
 */
import { hasJoined, incarnationOf, nameOf, votersOf } from '../../server/src/multipaxos/configuration.ts';
import { isServing } from '../../server/src/multipaxos/step.ts';
import type { Configuration, ConfigurationChange } from '../../server/src/multipaxos/types/members.ts';
import type { Message } from '../../server/src/multipaxos/types/messages.ts';
import type { ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import { address, foundingConfiguration } from './options.ts';
import type { SimulatedReplica } from './replica.ts';

export type Loss = 'log' | 'database' | 'both';

interface Admission {
  readonly member: ReplicaId;
  readonly configuration: Configuration;
  readonly purgedTo: Slot;
}

export class Recovery {
  private readonly replica: SimulatedReplica;
  /** Founders, and those who have been added at some time. */
  inService: boolean;
  private lives = 1;
  private nonce = '';
  private fetchingInLife: number | null = null;
  /** A name that was lost with its log: planted bugs go on under it. */
  private lostName: ReplicaId | null = null;
  /** The commit point that it must reach before it takes part again: a planted bug. */
  private silentTo = 0;

  constructor(replica: SimulatedReplica) {
    this.replica = replica;
    this.inService = replica.isFounder;
  }

  /** It was added, perhaps after it had been removed: it begins with nothing. */
  recruit(): void {
    const { replica } = this;
    this.inService = true;
    this.lose('both');
    this.lostName = null;
    replica.start();
  }

  // --------------------------------------------------------------------------------------------------- losses

  /** The process dies with the log; a database can be lost under a process that goes on. */
  lose(loss: Loss): void {
    const { replica } = this;
    const { database, disk, world } = replica;
    if (loss !== 'log') world.recoveries.databasesLost += 1;
    if (loss !== 'database') world.recoveries.logsLost += 1;
    if (loss !== 'log') {
      replica.killDatabase();
      database.up = false;
      database.lost = true;
      database.clear(foundingConfiguration(world.options.replicas));
    }
    if (loss === 'database') {
      if (replica.state !== null) this.replaceDatabase();
      return;
    }
    replica.crash();
    if (replica.member !== null) world.strike(replica);
    this.lostName = replica.member;
    replica.member = null;
    disk.wipe();
  }

  /** True if nothing that the group relies on is missing here. */
  isWhole(configuration: Configuration): boolean {
    const { member, database, forgottenTo } = this.replica;
    if (member === null || this.silentTo > 0) return false;
    if (database.lost || database.pointer < forgottenTo) return false;
    return votersOf(configuration).includes(member);
  }

  // -------------------------------------------------------------------------------------------------- joining

  logIsMissing(): void {
    const { replica, lostName } = this;
    const { wiped } = replica.world.options.recovery;
    if (wiped !== 'joins' && lostName !== null) {
      this.goOnAs(lostName);
      return;
    }
    this.lives += 1;
    this.nonce = `${replica.id}#${this.lives}`;
    this.ask();
  }

  private ask(): void {
    const { replica, nonce } = this;
    const { world } = replica;
    if (!replica.disk.isMissing || replica.state !== null || nonce !== this.nonce) return;
    // A run ends even if no one is left whose core could take a step.
    world.countStep();
    const other = world.random.pick(world.replicas);
    world.network.call(replica.id, other.id, () => other.recovery.answer(replica, nonce));
    replica.later(world.options.recovery.joinRetryMs, () => this.ask());
  }

  /** Whoever knows that the life is admitted says so; a leader sees to it. */
  answer(asking: SimulatedReplica, nonce: string): void {
    const { replica } = this;
    const { world } = replica;
    replica.whenAwake(() => {
      const { state } = replica;
      if (state === null) return;
      const { configuration } = state;
      const member = configuration.members.find((one) => one.replica === asking.id);
      if (member === undefined) return;
      if (!hasJoined(member, nonce)) {
        this.request({ kind: 'join', replica: asking.id, nonce, address });
        return;
      }
      const admission = { member: nameOf(member), configuration, purgedTo: replica.disk.purged() };
      world.network.call(replica.id, asking.id, () => asking.recovery.admitted(nonce, admission));
    });
  }

  /** Another life of this replica has been admitted, by a request that came late: this one can only begin anew. */
  membersAre({ members }: Configuration): void {
    const { replica } = this;
    const own = members.find((member) => member.replica === replica.id);
    if (own === undefined || own.incarnation === 0 || nameOf(own) === replica.member) return;
    if (incarnationOf(replica.member!) > own.incarnation) return;
    replica.later(0, () => {
      this.lose('log');
      this.lostName = null;
      replica.start();
    });
  }

  request(change: ConfigurationChange): string {
    const { state } = this.replica;
    if (state === null || !isServing(state)) return 'notLeader';
    const effects = this.replica.input({ kind: 'Reconfigure', id: 1, change });
    return effects.find((effect) => effect.kind === 'reconfigured')?.code ?? 'none';
  }

  private admitted(nonce: string, { member, configuration, purgedTo }: Admission): void {
    const { replica } = this;
    const { database, disk } = replica;
    replica.whenAwake(() => {
      if (nonce !== this.nonce || !disk.isMissing) return;
      if (database.lost && purgedTo === 0) {
        database.lost = false;
        database.up = true;
      }
      if (database.up) database.flush();
      replica.world.recoveries.joined += 1;
      replica.createLog(member, configuration, database.durablePointer);
      replica.run();
    });
  }

  // --------------------------------------------------------------------------------------------------- copies

  /** A new one from the log alone, if that has everything; else a copy. */
  replaceDatabase(): void {
    const { replica } = this;
    const { database, forgottenTo } = replica;
    if (forgottenTo > 0) {
      this.fetchCopy(forgottenTo);
      return;
    }
    replica.later(replica.world.random.unit() * replica.world.options.recovery.copyMsMax, () => {
      if (!database.lost) return;
      if (replica.forgottenTo > 0) {
        this.fetchCopy(replica.forgottenTo);
        return;
      }
      database.lost = false;
      replica.reviveDatabase();
    });
  }

  /** From anyone who has at least `slotMin` and whom it reaches; tries until there is one. A process that begins again asks again. */
  fetchCopy(slotMin: Slot): void {
    const { replica } = this;
    const { world, life, database } = replica;
    if (this.fetchingInLife === life) return;
    this.fetchingInLife = life;
    replica.input({ kind: 'CopyAwaited' });
    world.queue.after(world.random.unit() * world.options.recovery.copyMsMax, () => {
      if (life !== replica.life) return;
      this.fetchingInLife = null;
      const source = world.random.pick(world.replicas);
      if (this.canCopy(source, slotMin)) this.install(source);
      else if (database.lost || database.pointer < slotMin) this.fetchCopy(slotMin);
    });
  }

  private canCopy(source: SimulatedReplica, slotMin: Slot): boolean {
    const { replica } = this;
    const { network } = replica.world;
    const { database } = source;
    const linked = network.reaches(replica.id, source.id) && network.reaches(source.id, replica.id);
    return source !== replica && source.alive && linked && database.up && database.pointer >= slotMin;
  }

  private install(source: SimulatedReplica): void {
    const { replica } = this;
    const { database } = replica;
    if (!database.lost && database.pointer >= source.database.pointer) return;
    replica.world.recoveries.copied += 1;
    replica.killDatabase();
    database.copyFrom(source.database);
    database.lost = false;
    database.up = true;
    replica.databaseIsUp();
  }

  /** Whoever was asked for what this replica needs next has forgotten it. */
  received(message: Message): void {
    const { state } = this.replica;
    if (state === null || message.kind !== 'CatchUpReply' || message.entries.length > 0) return;
    if (message.purgedTo > state.commitPoint) this.fetchCopy(message.purgedTo);
  }

  // --------------------------------------------------------------------------------------------- planted bugs

  private goOnAs(name: ReplicaId): void {
    const { replica } = this;
    const { world, database } = replica;
    const { wiped } = world.options.recovery;
    const healthy = world.replicas.find(({ state }) => state !== null);
    const configuration = healthy?.state?.configuration ?? world.judge.members.newest();
    this.silentTo = wiped === 'votesOnceCaughtUp' ? Number.POSITIVE_INFINITY : 0;
    database.flush();
    replica.createLog(name, configuration, database.durablePointer);
    replica.run();
  }

  /** One that has caught up with the commit point of a leader takes itself for healed. */
  ignores(message: Message): boolean {
    if (this.silentTo === 0) return false;
    const { commitPoint } = this.replica.state!;
    if (message.kind === 'Heartbeat') this.silentTo = Math.min(this.silentTo, message.commitPoint);
    if (commitPoint >= this.silentTo) this.silentTo = 0;
    return message.kind === 'Prepare' || message.kind === 'Accept' || message.kind === 'PreVote';
  }
}
