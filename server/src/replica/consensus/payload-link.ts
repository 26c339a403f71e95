/**
 * What the payload may ask of its replica: the core's side of the seam (payload/payload.ts).
 *
 * Decides nothing. Whatever the payload says within a step of the core is taken up when that step is done.
 */
import type { ApplyTraceEvent } from '../../api/events.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { Ballot, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { PayloadHost, ProposeResult } from '../../payload/payload.ts';
import type { Membership } from '../members/membership.ts';
import type { ReplicaEvents } from '../status/events.ts';
import type { CoreHost } from './core-host.ts';
import type { LeadershipState } from './leadership-state.ts';
import type { Proposer } from './proposer.ts';

export interface PayloadLinkOptions {
  readonly member: ReplicaId;
  readonly core: CoreHost;
  readonly proposer: Proposer;
  readonly leadership: LeadershipState;
  readonly membership: () => Membership;
  readonly events: ReplicaEvents;
  readonly isTraced: boolean;
  readonly groupIntervalMs: () => number | null;
  /** Whatever it proposed has a slot, or will have one. */
  readonly onProposed: () => void;
  readonly onOpening: (ballot: Ballot) => void;
  readonly onReady: (ballot: Ballot) => void;
  readonly onUnready: (reason: string) => void;
  readonly onFatal: (error: Error) => void;
}

export class PayloadLink implements PayloadHost {
  readonly member: ReplicaId;
  readonly isTraced: boolean;
  private readonly options: PayloadLinkOptions;

  constructor(options: PayloadLinkOptions) {
    this.options = options;
    this.member = options.member;
    this.isTraced = options.isTraced;
  }

  commitPoint(): Slot {
    return this.options.core.commitPoint;
  }

  isAwaited(): boolean {
    const { role, serving } = this.options.leadership;
    return role === 'leader' && !serving;
  }

  configuration(): Configuration {
    return this.options.membership().configuration;
  }

  propose(payload: Uint8Array): ProposeResult {
    const result = this.options.proposer.propose(payload);
    if (result.code === 'proposed') this.options.onProposed();
    return result;
  }

  isWriting(): boolean {
    return this.options.core.isWriting;
  }

  groupIntervalMs(): number | null {
    return this.options.groupIntervalMs();
  }

  applied(slot: Slot, durableSlot: Slot): void {
    this.options.core.input({ kind: 'Applied', slot, durableSlot });
  }

  restored(slot: Slot, configuration: Configuration): void {
    this.options.core.input({ kind: 'Restored', slot, configuration });
  }

  copyAwaited(): void {
    this.options.core.input({ kind: 'CopyAwaited' });
  }

  leadershipKnown(ballot: Ballot): void {
    this.options.core.input({ kind: 'LeadershipKnown', ballot });
  }

  stepDown(): void {
    this.options.core.input({ kind: 'StepDown', reason: 'databaseFailed' });
  }

  opening(ballot: Ballot): void {
    this.options.onOpening(ballot);
  }

  ready(ballot: Ballot): void {
    this.options.onReady(ballot);
  }

  unready(reason: string): void {
    this.options.onUnready(reason);
  }

  event(event: ApplyTraceEvent): void {
    this.options.events.apply(event);
  }

  fatal(error: Error): void {
    this.options.onFatal(error);
  }
}
