/** What the parts of one simulated run share. */
import type { Member } from '../../server/src/multipaxos/types/members.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../server/src/multipaxos/types/records.ts';
import type { CoreSnapshot, CoreTraceEvent } from '../../server/src/multipaxos/types/trace.ts';
import type { EventQueue } from './event-queue.ts';
import type { Judge } from './judge.ts';
import type { SimulatedNetwork } from './network.ts';
import type { SimulationOptions } from './options.ts';
import type { Random } from '../workload/seeded-random.ts';
import type { SimulatedReplica } from './replica.ts';

export interface Crash {
  /** The state that is lost. */
  readonly before: CoreSnapshot;
  /** Records that were not flushed yet and are on disk all the same. */
  readonly survivors: readonly LogRecord[];
  readonly recovered: RecoveredLog;
}

/** Takes the events of a run in the order in which they happen. */
export interface TraceRecorder {
  record(atMs: number, replica: ReplicaId, event: CoreTraceEvent): void;
  crash(atMs: number, replica: ReplicaId, crash: Crash): void;
}

export interface Recoveries {
  logsLost: number;
  databasesLost: number;
  /** Lives that were admitted. */
  joined: number;
  /** Databases copied from another's. */
  copied: number;
}

export interface World {
  readonly options: SimulationOptions;
  readonly queue: EventQueue;
  readonly random: Random;
  readonly network: SimulatedNetwork;
  readonly judge: Judge;
  readonly replicas: readonly SimulatedReplica[];
  readonly trace: TraceRecorder | null;
  /** From now on messages to its incarnation reach it; and no more. */
  enrol(replica: SimulatedReplica): void;
  strike(replica: SimulatedReplica): void;
  /** A configuration is on its way: it may yet be chosen. */
  noteProposed(members: readonly Member[], version: number): void;
  /** All that a majority may be needed of, now or soon, when `without` is lost. */
  possibleMembers(without: SimulatedReplica | null): (readonly Member[])[];
  /** What was lost and regained in this run. */
  readonly recoveries: Recoveries;
  /** Counts one step of a core. */
  countStep(): void;
  /** Lets the judge look at who holds a lease now. */
  checkLeases(): void;
}
