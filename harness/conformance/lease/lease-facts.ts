/**
 * The names of a recorded run in numbers: replicas, ballots and configurations in their order. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { compareBallots } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { orderTrace } from '../trace/read-trace.ts';
import { ballotKey, type LeaseEvent } from './lease-event.ts';

export interface LeaseFacts {
  readonly replicas: readonly ReplicaId[];
  readonly ballots: readonly Ballot[];
  /** Of each configuration, from the first. */
  readonly voters: readonly (readonly ReplicaId[])[];
  /** From 1; 0: nobody. */
  readonly replicaNumber: (replica: ReplicaId | null) => number;
  /** From 1; 0: none. */
  readonly ballotNumber: (ballot: Ballot) => number;
  /** From 1. */
  readonly versionNumber: (version: number) => number;
}

/** @throws Error if the consensus layer does not say who votes in a configuration */
export function leaseFacts(events: readonly TraceEvent[]): LeaseFacts {
  const told = events.filter((event) => event.layer === 'lease');
  const ballots = ballotsIn(told);
  const { founding, configurations } = orderTrace(events);
  const last = Math.max(founding.version, ...configurations.chosen.keys());
  const voters = Array.from({ length: last - founding.version + 1 }, (_, index) => {
    const configuration = configurations.chosen.get(founding.version + index);
    if (configuration === undefined)
      throw new Error(`nobody says who votes in configuration ${founding.version + index}`);
    return configuration.voters;
  });
  const names = new Set([
    ...told.map(({ replica }) => replica),
    ...voters.flat(),
    ...ballots.map(({ replica }) => replica),
  ]);
  const replicas = [...names].sort((a, b) => (a < b ? -1 : 1));
  const numbers = new Map(ballots.map((ballot, index) => [ballotKey(ballot), index + 1]));
  return {
    replicas,
    ballots,
    voters,
    replicaNumber: (replica) => (replica === null ? 0 : replicas.indexOf(replica) + 1),
    ballotNumber: (ballot) => numbers.get(ballotKey(ballot)) ?? 0,
    versionNumber: (version) => version - founding.version + 1,
  };
}

/** All that is told of, from the lowest; without the one that comes before all. */
function ballotsIn(told: readonly LeaseEvent[]): readonly Ballot[] {
  const found = new Map<string, Ballot>();
  const add = (ballot: Ballot | undefined): void => {
    if (ballot !== undefined && ballot.round > 0) found.set(ballotKey(ballot), ballot);
  };
  for (const event of told) {
    if ('ballot' in event) add(event.ballot);
    if ('lease' in event) add(event.lease?.ballot);
    if (event.name === 'Restart') add(event.promised);
    if (event.name === 'RunRead') add(event.leadership);
  }
  return [...found.values()].sort(compareBallots);
}
