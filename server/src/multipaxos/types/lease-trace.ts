/** What the core tells of the lease, in the words of Lease.tla: for the checks of traces, and for people who watch. All times are of the replica's own clock. */
import type { Ballot, ReplicaId, StepDownReason } from './names.ts';

/** What a replica has given its word for: it promises nothing before, but to the one whom it heard. */
export interface TracedGrant {
  readonly untilMs: number;
  /** Null: to nobody; it has just begun. */
  readonly to: ReplicaId | null;
}

/** A leader's lease, and what it rests on. */
export interface TracedLease {
  readonly ballot: Ballot;
  /** `always`: it is the only voter. `never`: no quorum has acknowledged anything. */
  readonly untilMs: number | 'always' | 'never';
  /** Version of the configuration by which acknowledgements count. */
  readonly configuration: number;
  /** When it sent the newest message that each peer has acknowledged. */
  readonly acked: readonly (readonly [ReplicaId, number])[];
}

export type CoreLeaseEvent = {
  readonly clockMs: number;
} & (
  | {
      readonly name: 'Restart';
      readonly leaseMs: number;
      readonly clockDriftMax: number;
      readonly promised: Ballot;
      readonly grant: TracedGrant;
    }
  /** A message of the leader of `ballot` has come, which it sent at `sentAtMs` of its clock. `grant`: from now on. */
  | {
      readonly name: 'HandleHeartbeat';
      readonly ballot: Ballot;
      readonly sentAtMs: number;
      readonly grant: TracedGrant;
    }
  /** `ballot`: of the acknowledgement. Told when the lease has been renewed for a while, and at the first one of each peer. */
  | {
      readonly name: 'HandleHeartbeatAck';
      readonly from: ReplicaId;
      readonly ballot: Ballot;
      readonly sentAtMs: number;
      readonly lease: TracedLease;
    }
  /** To the owner of `ballot`, perhaps itself; `grant` and `lease` as they were before. */
  | {
      readonly name: 'GivePromise';
      readonly ballot: Ballot;
      readonly grant: TracedGrant;
      readonly lease: TracedLease | null;
    }
  | { readonly name: 'Lead'; readonly lease: TracedLease }
  /** Its own change of the members is chosen. */
  | { readonly name: 'Learn'; readonly lease: TracedLease }
  /** It gives up of itself. */
  | { readonly name: 'Resign'; readonly ballot: Ballot; readonly reason: StepDownReason }
  /** The leader of `ballot` has given up, and said so. `grant`: from now on. */
  | { readonly name: 'HandleResigned'; readonly ballot: Ballot; readonly grant: TracedGrant }
);
