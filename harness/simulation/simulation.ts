/**
 * One simulated run: builds the world from its options, lets the nemesis loose, heals, and asks the judge.
 *
 * Entry points: `simulate` for a run, `findFailure` for many seeds. A run is a function of its options: the same ones give the
 * same events, so a failure is replayed by its seed.
 */
import { nameOf } from '../../server/src/multipaxos/configuration.ts';
import { InvariantViolation, isServing } from '../../server/src/multipaxos/step.ts';
import type { Member } from '../../server/src/multipaxos/types/members.ts';
import type { ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import { SimulatedClient } from './clients.ts';
import { EventQueue } from './event-queue.ts';
import { Judge } from './judge.ts';
import { RuleBroken, type Rule } from './rules.ts';
import { Nemesis } from './nemesis.ts';
import { SimulatedNetwork } from './network.ts';
import { foundingConfiguration, optionsOfSeed, replicaIds, type SimulationOptions } from './options.ts';
import { Random } from '../workload/seeded-random.ts';
import { SimulatedReplica } from './replica.ts';
import type { Recoveries, TraceRecorder, World } from './world.ts';

interface Failure {
  readonly seed: number;
  readonly rule: Rule;
  readonly message: string;
  readonly atMs: number;
  readonly stack: string;
}

export interface SimulationResult {
  readonly seed: number;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly chosen: number;
  readonly acknowledgedWrites: number;
  readonly reads: number;
  readonly recoveries: Readonly<Recoveries>;
  readonly failure: Failure | null;
}

export function simulate(options: SimulationOptions, trace: TraceRecorder | null = null): SimulationResult {
  const world = new SimulatedWorld(options, trace);
  let failure: Failure | null = null;
  try {
    world.run();
  } catch (error) {
    failure = describe(options.seed, error, world.queue.nowMs);
  }
  const { chosen, acknowledgedWrites, reads } = world.judge.counts;
  const { steps } = world;
  return {
    seed: options.seed,
    steps,
    simulatedMs: world.queue.nowMs,
    chosen,
    acknowledgedWrites,
    reads,
    recoveries: world.recoveries,
    failure,
  };
}

function describe(seed: number, error: unknown, atMs: number): Failure {
  const known = error instanceof RuleBroken || error instanceof InvariantViolation;
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? (error.stack ?? message) : message;
  const rule = error instanceof RuleBroken ? error.rule : 'CoreInvariant';
  return { seed, rule, message: known ? message : stack, atMs, stack };
}

/** The first failing run of `count` seeds from `firstSeed`; null if all hold. */
export function findFailure(
  firstSeed: number,
  count: number,
  overrides: Partial<SimulationOptions>,
): SimulationResult | null {
  for (let seed = firstSeed; seed < firstSeed + count; seed += 1) {
    const result = simulate(optionsOfSeed(seed, overrides));
    if (result.failure !== null) return result;
  }
  return null;
}

class SimulatedWorld implements World {
  readonly options: SimulationOptions;
  readonly queue = new EventQueue();
  readonly random: Random;
  readonly network: SimulatedNetwork;
  readonly judge: Judge;
  readonly replicas: readonly SimulatedReplica[];
  readonly trace: TraceRecorder | null;
  readonly recoveries: Recoveries = { logsLost: 0, databasesLost: 0, joined: 0, copied: 0 };
  steps = 0;
  private readonly founders: readonly SimulatedReplica[];
  private readonly clients: SimulatedClient[];
  /** By incarnation. */
  private readonly enrolled = new Map<ReplicaId, SimulatedReplica>();
  private proposed: { readonly version: number; readonly members: readonly Member[] }[] = [];

  constructor(options: SimulationOptions, trace: TraceRecorder | null) {
    this.options = options;
    this.trace = trace;
    this.random = new Random(options.seed);
    const founding = foundingConfiguration(options.replicas);
    this.judge = new Judge(founding, options.workload.keys);
    this.network = new SimulatedNetwork(
      { queue: this.queue, random: this.random, options: options.network },
      (from, to, message) => this.enrolled.get(to)?.receive(from, message),
    );
    this.replicas = replicaIds(options.replicas + options.spares).map(
      (id, index) => new SimulatedReplica(this, id, index < options.replicas),
    );
    this.founders = this.replicas.slice(0, options.replicas);
    for (const founder of this.founders) founder.createLog(founder.id, founding, 0 as Slot);
    this.clients = Array.from(
      { length: options.workload.clients },
      (_, index) => new SimulatedClient(this, index),
    );
  }

  run(): void {
    for (const founder of this.founders) founder.start();
    for (const client of this.clients) client.begin();
    const nemesis = new Nemesis(this);
    while (this.steps < this.options.steps) this.queue.next();
    nemesis.stop();
    this.settle();
  }

  countStep(): void {
    this.steps += 1;
  }

  enrol(replica: SimulatedReplica): void {
    this.enrolled.set(replica.member!, replica);
  }

  strike(replica: SimulatedReplica): void {
    this.enrolled.delete(replica.member!);
  }

  noteProposed(members: readonly Member[], version: number): void {
    const { version: chosen } = this.judge.members.newest();
    this.proposed = this.proposed.filter((one) => one.version > chosen && one.members !== members);
    this.proposed.push({ version, members });
  }

  possibleMembers(without: SimulatedReplica | null): (readonly Member[])[] {
    const { members } = this.judge;
    const newest = members.newest();
    const others = this.replicas.filter((replica) => replica !== without && replica.recovery.isWhole(newest));
    const known = Math.max(1, ...others.map(({ disk }) => disk.knownVersion));
    const chosen = members.since(known);
    const open = this.proposed.filter(({ version }) => version > newest.version);
    const wanted = this.replicas.flatMap(({ state }) => state?.leadership?.wanted ?? []);
    const possible = [...chosen, ...open].map((one) => one.members);
    return wanted.length > 0 ? [...possible, wanted] : possible;
  }

  checkLeases(): void {
    const holders = this.replicas.filter((replica) => replica.holdsLease());
    if (holders.length > 1) this.judge.leaseHolders(holders.map((replica) => replica.id));
  }

  /** Healed: every client gets an answer, and all replicas become equal. */
  private settle(): void {
    const deadlineMs = this.queue.nowMs + this.options.healMsMax;
    const answeredBefore = this.clients.map((client) => client.answered);
    const served = (): boolean =>
      this.clients.every((client, index) => client.answered > answeredBefore[index]!);
    while (!served()) this.nextBefore(deadlineMs, 'not every client got an answer');
    for (const client of this.clients) client.stop();
    while (!this.areEqual()) this.nextBefore(deadlineMs, 'the replicas did not become equal');
    for (const replica of this.members()) this.judge.databaseAtEnd(replica.id, replica.database.effects);
  }

  private nextBefore(deadlineMs: number, complaint: string): void {
    if (this.queue.nowMs > deadlineMs)
      throw new RuleBroken('ProgressAfterHeal', `${complaint}: ${this.positions()}`);
    this.queue.next();
  }

  /** Every member votes again, and has everything. */
  private areEqual(): boolean {
    const leader = this.replicas.find((replica) => replica.state !== null && isServing(replica.state));
    if (leader === undefined) return false;
    const { commitPoint, leadership, configuration } = leader.state!;
    if (leadership!.nextSlot !== commitPoint + 1 || leadership!.wanted !== null) return false;
    if (configuration.version !== this.judge.members.newest().version) return false;
    return this.members().every(
      ({ recovery, database }) => recovery.isWhole(configuration) && database.pointer === commitPoint,
    );
  }

  private members(): SimulatedReplica[] {
    const { members } = this.judge.members.newest();
    return this.replicas.filter(({ id }) => members.some(({ replica }) => replica === id));
  }

  private positions(): string {
    const { version, members } = this.judge.members.newest();
    const names = members.map((member) => `${nameOf(member)} (${member.role})`);
    const replicas = this.replicas.map(
      ({ id, member, state, database, disk }) =>
        `${id} as ${member} ${state?.role} knows version ${state?.configuration.version}, commit point ${state?.commitPoint}, ` +
        `applied ${database.pointer}${database.lost ? ' (lost)' : ''}, purged ${disk.purged()}`,
    );
    return `version ${version}: ${names.join(' ')}; ${replicas.join('; ')}`;
  }
}
