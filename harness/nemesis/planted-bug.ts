/** What a bug is that is planted into a copy of the server, and how a run is to find it. */
import type { WorkloadName } from '../checkers/check-history.ts';
import type { ReadMode } from '../checkers/read-terms.ts';
import type { Mutation } from './mutate.ts';
import type { FaultKind, Wish } from './schedule.ts';

export interface PlantedBug {
  readonly name: string;
  /** What is wrong, in one sentence. */
  readonly sentence: string;
  readonly mutations: readonly Mutation[];
  readonly workloads: readonly WorkloadName[];
  readonly strain: {
    readonly kind: FaultKind;
    readonly wish: Wish;
    readonly everyMs: number;
    readonly forMs: number;
  };
  /** One of these must be found. */
  readonly expected: readonly string[];
  /** Transfers in doubt are repeated under a request id. */
  readonly requestIds?: boolean;
  /** How clients read at all replicas, besides. */
  readonly readModes?: readonly ReadMode[];
}
