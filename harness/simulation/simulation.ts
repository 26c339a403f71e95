/**
 * One simulated run: builds the world from its options, lets the nemesis loose, heals, and asks the judge.
 *
 * Entry points: `simulate` for a run, `findFailure` for many seeds. A run is a function of its options: the same ones give the
 * same events, so a failure is replayed by its seed.
 */
import { InvariantViolation, isServing } from '../../server/src/multipaxos/step.ts';
import { SimulatedClient } from './clients.ts';
import { EventQueue } from './event-queue.ts';
import { Judge, RuleBroken, type Rule } from './judge.ts';
import { Nemesis } from './nemesis.ts';
import { SimulatedNetwork } from './network.ts';
import { memberIds, optionsOfSeed, type SimulationOptions } from './options.ts';
import { Random } from './random.ts';
import { SimulatedReplica } from './replica.ts';
import type { TraceRecorder, World } from './world.ts';

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
  steps = 0;
  private readonly clients: SimulatedClient[];

  constructor(options: SimulationOptions, trace: TraceRecorder | null) {
    this.options = options;
    this.trace = trace;
    this.random = new Random(options.seed);
    const members = memberIds(options.replicas);
    this.judge = new Judge(members, options.workload.keys);
    const byId = new Map<string, SimulatedReplica>();
    this.network = new SimulatedNetwork(
      { queue: this.queue, random: this.random, options: options.network },
      (from, to, message) => byId.get(to)!.receive(from, message),
    );
    this.replicas = members.map((id) => new SimulatedReplica(this, id));
    for (const replica of this.replicas) byId.set(replica.id, replica);
    this.clients = Array.from(
      { length: options.workload.clients },
      (_, index) => new SimulatedClient(this, index),
    );
  }

  run(): void {
    for (const replica of this.replicas) replica.start();
    for (const client of this.clients) client.begin();
    const nemesis = new Nemesis(this);
    while (this.steps < this.options.steps) this.queue.next();
    nemesis.stop();
    this.settle();
  }

  countStep(): void {
    this.steps += 1;
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
    for (const replica of this.replicas) this.judge.databaseAtEnd(replica.id, replica.database.effects);
  }

  private nextBefore(deadlineMs: number, complaint: string): void {
    if (this.queue.nowMs > deadlineMs)
      throw new RuleBroken('ProgressAfterHeal', `${complaint}: ${this.positions()}`);
    this.queue.next();
  }

  private areEqual(): boolean {
    const leader = this.replicas.find((replica) => replica.state !== null && isServing(replica.state));
    if (leader === undefined) return false;
    const { commitPoint, leadership } = leader.state!;
    if (leadership!.nextSlot !== commitPoint + 1) return false;
    return this.replicas.every((replica) => replica.database.pointer === commitPoint);
  }

  private positions(): string {
    return this.replicas
      .map(
        ({ id, state, database }) =>
          `${id} ${state?.role} commit point ${state?.commitPoint} applied ${database.pointer}`,
      )
      .join(', ');
  }
}
