/**
 * The knobs of a simulated run: every fault by name, with its unit.
 *
 * Responsible for: the options type, a calm default, and drawing a mix of faults from a seed (each kind is left out in some runs, so
 * that a fault which hides another's damage is not always there).
 */
import type { CoreConfig } from '../../server/src/multipaxos/types/effects.ts';
import type { Configuration, MemberAddress } from '../../server/src/multipaxos/types/members.ts';
import type { GroupId, ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { TraceLevel } from '../../server/src/multipaxos/types/trace.ts';
import { realCore, type Core } from './core.ts';
import { Random } from '../workload/seeded-random.ts';

export interface NetworkOptions {
  readonly delayMsMin: number;
  readonly delayMsMean: number;
  /** Probabilities for each message. */
  readonly loss: number;
  readonly duplication: number;
  /** A reordered message is held back for up to `reorderMsMax`. */
  readonly reordering: number;
  readonly reorderMsMax: number;
}

/** A mean interval of 0 switches a kind of fault off. */
interface FaultOptions {
  readonly partitionIntervalMsMean: number;
  readonly partitionMsMax: number;
  /** Probability that a partition in two cuts one direction only. */
  readonly oneWay: number;
  /** Probability that, instead of a partition in two, each direction of each link is cut or not by itself. */
  readonly brokenLinks: number;
  readonly crashIntervalMsMean: number;
  readonly downMsMax: number;
  /** Probability that a crash leaves a part of what was not yet flushed, cut at any record. */
  readonly tornWrites: number;
  /** Probability that a crash takes the database with it, which loses commits above its durable pointer. */
  readonly crashTakesDatabase: number;
  readonly databaseKillIntervalMsMean: number;
  readonly databaseDownMsMax: number;
  /** The process stands still, as under SIGSTOP or in a long collection, while its clock runs. */
  readonly pauseIntervalMsMean: number;
  readonly pauseMsMax: number;
  readonly stepDownIntervalMsMean: number;
  /** Wipes of a replica's log, of its database, or of both, a third each. */
  readonly wipeIntervalMsMean: number;
  /** Probability that a wipe hits as many more as the group can bear at the same time. */
  readonly wipesTogether: number;
  /** Wipes as many as it likes: data is lost then. */
  readonly wipesMajorities: boolean;
  /** A log has outgrown its bound: it forgets what is applied, whoever still wants it. */
  readonly logPressureIntervalMsMean: number;
  /** A replica is added or removed. */
  readonly membershipIntervalMsMean: number;
}

/** What a replica does that finds no log. All but `joins` are mistakes, for planted bugs. */
export type WipedBehaviour = 'joins' | 'votesAtOnce' | 'votesOnceCaughtUp';

interface RecoveryOptions {
  readonly wiped: WipedBehaviour;
  readonly joinRetryMs: number;
  /** How long a copy of a database takes. */
  readonly copyMsMax: number;
}

export interface DiskOptions {
  readonly flushMsMean: number;
  /** Probability for each flush that it stalls. */
  readonly stall: number;
  readonly stallMsMax: number;
}

interface ClockOptions {
  /** Clocks start at different values. */
  readonly skewMsMax: number;
  /** Rates differ by at most this; must not be above the core's `clockDriftMax` if leases are to hold. */
  readonly driftMax: number;
  readonly driftIntervalMsMean: number;
}

interface DatabaseOptions {
  readonly applyMsMean: number;
  readonly flushIntervalMs: number;
  readonly applyBatchMax: number;
}

interface WorkloadOptions {
  readonly clients: number;
  readonly keys: number;
  readonly writeFraction: number;
  readonly thinkMsMean: number;
  readonly timeoutMs: number;
  readonly payloadBytesMax: number;
  /** Probability that a client repeats the same request after an unknown outcome. */
  readonly retry: number;
}

export interface SimulationOptions {
  readonly seed: number;
  /** Core steps to take under faults, before everything is healed. */
  readonly steps: number;
  /** Members at the founding. */
  readonly replicas: number;
  /** Replicas beside them, which may be added. */
  readonly spares: number;
  readonly tickMs: number;
  /** Simulated time that the group has, once healed, to make progress and become equal. */
  readonly healMsMax: number;
  readonly network: NetworkOptions;
  readonly faults: FaultOptions;
  readonly disk: DiskOptions;
  readonly clocks: ClockOptions;
  readonly database: DatabaseOptions;
  readonly workload: WorkloadOptions;
  readonly recovery: RecoveryOptions;
  readonly timing: Omit<CoreConfig, 'group' | 'id' | 'trace'>;
  /** The core under test: the real one, or one with a planted bug. */
  readonly core: Core;
}

/** No faults at all; short timeouts, so that much happens in few steps. */
export const calm: SimulationOptions = {
  seed: 1,
  steps: 10_000,
  replicas: 3,
  spares: 0,
  tickMs: 10,
  healMsMax: 30_000,
  network: { delayMsMin: 0.2, delayMsMean: 1, loss: 0, duplication: 0, reordering: 0, reorderMsMax: 0 },
  faults: {
    partitionIntervalMsMean: 0,
    partitionMsMax: 1000,
    oneWay: 0.4,
    brokenLinks: 0.4,
    crashIntervalMsMean: 0,
    downMsMax: 600,
    tornWrites: 0.7,
    crashTakesDatabase: 0.5,
    databaseKillIntervalMsMean: 0,
    databaseDownMsMax: 400,
    pauseIntervalMsMean: 0,
    pauseMsMax: 500,
    stepDownIntervalMsMean: 0,
    wipeIntervalMsMean: 0,
    wipesTogether: 0.3,
    wipesMajorities: false,
    logPressureIntervalMsMean: 0,
    membershipIntervalMsMean: 0,
  },
  disk: { flushMsMean: 0.5, stall: 0, stallMsMax: 300 },
  clocks: { skewMsMax: 10_000, driftMax: 0, driftIntervalMsMean: 200 },
  database: { applyMsMean: 0.5, flushIntervalMs: 50, applyBatchMax: 16 },
  workload: {
    clients: 4,
    keys: 3,
    writeFraction: 0.6,
    thinkMsMean: 10,
    timeoutMs: 400,
    payloadBytesMax: 64,
    retry: 0.5,
  },
  recovery: { wiped: 'joins', joinRetryMs: 25, copyMsMax: 60 },
  timing: {
    heartbeatMs: 30,
    electionTimeoutMinMs: 150,
    electionTimeoutMaxMs: 300,
    leaseMs: 120,
    clockDriftMax: 0.05,
    retransmitMs: 40,
    windowSlotsMax: 32,
    windowBytesMax: 4096,
    acceptBatchBytesMax: 512,
    catchUpSlotsMax: 16,
  },
  core: realCore,
};

/** Disks are lost again and again, members come and go, and old messages arrive late. */
export const losses: Partial<SimulationOptions> = {
  spares: 2,
  network: { ...calm.network, delayMsMean: 2, loss: 0.05, reordering: 0.1, reorderMsMax: 400 },
  faults: {
    ...calm.faults,
    partitionIntervalMsMean: 300,
    partitionMsMax: 300,
    crashIntervalMsMean: 300,
    downMsMax: 100,
    wipeIntervalMsMean: 150,
    logPressureIntervalMsMean: 60,
    membershipIntervalMsMean: 200,
    stepDownIntervalMsMean: 300,
    databaseKillIntervalMsMean: 300,
  },
};

/** A mix of faults drawn from the seed, a storm in some of them. The same seed always draws the same mix. */
export function optionsOfSeed(seed: number, overrides: Partial<SimulationOptions> = {}): SimulationOptions {
  const random = new Random(seed ^ 0x5eed);
  const base = random.chance(0.4) ? storm(random) : weather(random);
  const drawn = random.chance(0.5) ? base : withLosses(base, random);
  return { ...drawn, seed, ...overrides };
}

/** Disks are lost and members come and go, in more than half of these runs both. */
function withLosses(base: SimulationOptions, random: Random): SimulationOptions {
  const changes = random.chance(0.7);
  return {
    ...base,
    spares: changes ? 2 : 0,
    faults: {
      ...base.faults,
      wipeIntervalMsMean: random.chance(0.8) ? random.between(150, 2000) : 0,
      logPressureIntervalMsMean: random.chance(0.6) ? random.between(30, 600) : 0,
      membershipIntervalMsMean: changes ? random.between(100, 1500) : 0,
    },
  };
}

/** Leaders fall all the time, with much in flight: what one of them left half-done is the next one's problem. */
function storm(random: Random): SimulationOptions {
  return {
    ...calm,
    network: {
      delayMsMin: 0.1,
      delayMsMean: random.between(0.5, 15),
      loss: random.between(0, 0.25),
      duplication: random.between(0, 0.1),
      reordering: random.between(0, 0.3),
      reorderMsMax: random.between(10, 150),
    },
    faults: {
      ...calm.faults,
      partitionIntervalMsMean: random.between(80, 500),
      partitionMsMax: random.between(100, 600),
      crashIntervalMsMean: random.between(60, 500),
      downMsMax: random.between(5, 300),
      stepDownIntervalMsMean: random.chance(0.5) ? random.between(80, 500) : 0,
    },
    disk: {
      flushMsMean: random.between(0.1, 15),
      stall: random.between(0, 0.1),
      stallMsMax: random.between(20, 300),
    },
    clocks: { ...calm.clocks, driftMax: random.chance(0.5) ? calm.timing.clockDriftMax : 0 },
    workload: { ...calm.workload, clients: 2 + random.below(6), thinkMsMean: random.between(1, 10) },
  };
}

function weather(random: Random): SimulationOptions {
  const on = (probability: number, value: number): number => (random.chance(probability) ? value : 0);
  return {
    ...calm,
    network: {
      delayMsMin: 0.1,
      delayMsMean: random.between(0.3, 6),
      loss: on(0.6, random.between(0.005, 0.15)),
      duplication: on(0.5, random.between(0.01, 0.1)),
      reordering: on(0.5, random.between(0.01, 0.2)),
      reorderMsMax: random.between(5, 400),
    },
    faults: {
      ...calm.faults,
      partitionIntervalMsMean: on(0.6, random.between(300, 3000)),
      partitionMsMax: random.between(200, 1500),
      crashIntervalMsMean: on(0.7, random.between(200, 3000)),
      downMsMax: random.between(20, 1200),
      databaseKillIntervalMsMean: on(0.4, random.between(500, 4000)),
      pauseIntervalMsMean: on(0.5, random.between(300, 3000)),
      pauseMsMax: random.between(50, 800),
      stepDownIntervalMsMean: on(0.3, random.between(500, 4000)),
    },
    disk: {
      flushMsMean: random.between(0.1, 5),
      stall: on(0.4, random.between(0.002, 0.03)),
      stallMsMax: random.between(20, 400),
    },
    clocks: { ...calm.clocks, driftMax: on(0.7, calm.timing.clockDriftMax) },
    workload: { ...calm.workload, clients: 2 + random.below(6), thinkMsMean: random.between(1, 20) },
  };
}

export function replicaIds(count: number): ReplicaId[] {
  return Array.from({ length: count }, (_, index) => `r${index + 1}` as ReplicaId);
}

export const address: MemberAddress = { host: 'simulated', port: 1, pgwire: { host: 'simulated', port: 1 } };

/** All voters, in their first life. */
export function foundingConfiguration(count: number): Configuration {
  const members = replicaIds(count).map((replica) => {
    return { replica, incarnation: 1, role: 'voter', nonce: `${replica}#1`, address } as const;
  });
  return { version: 1, slot: 0 as Slot, members };
}

export function coreConfig(options: SimulationOptions, id: ReplicaId, trace: TraceLevel): CoreConfig {
  return { ...options.timing, group: 'g1' as GroupId, id, trace };
}
