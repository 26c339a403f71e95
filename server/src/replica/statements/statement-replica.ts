/**
 * One replica where statements are what travels: what each of its parts hears of the others, and the order in which they start and stop.
 *
 * Responsible for: carrying the core's words to the payload, the members and those that wait for an operation. How the parts are put together is main/become-statement-replica.ts.
 */
import type { Logger } from 'pino';
import type { ReplicaMeasures } from '../../api/measures.ts';
import type { LinkFault, ReplicaStatus } from '../../api/status.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import type { Effect } from '../../multipaxos/types/effects.ts';
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { CoreLeaseEvent } from '../../multipaxos/types/lease-trace.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { CoreTraceEvent } from '../../multipaxos/types/trace.ts';
import type { OperationResult } from '../../payload/statements/executor.ts';
import { decodeOperation, keyOf } from '../../payload/statements/operation.ts';
import type { Payload } from '../../payload/payload.ts';
import type { ControlMessage } from '../../ports/control.ts';
import type { Timers } from '../../ports/clock.ts';
import type { LogStore } from '../../ports/log-store.ts';
import type { Transport } from '../../ports/transport.ts';
import { noHandOvers } from '../../api/measures.ts';
import type { CoreHost, CoreListener } from '../consensus/core-host.ts';
import type { LeadershipState } from '../consensus/leadership-state.ts';
import type { Proposer } from '../consensus/proposer.ts';
import type { RecoveryTracker } from '../database/recovery-progress.ts';
import type { Membership } from '../members/membership.ts';
import { conditionOf, troubleOf, type Facts } from '../status/condition.ts';
import type { ReplicaEvents } from '../status/events.ts';
import { LogTrouble } from '../status/log-trouble.ts';
import { measuresOf } from '../status/measures-report.ts';
import { statusOf, type DatabaseStatus } from '../status/status-report.ts';
import type { Given, Submissions } from './submissions.ts';

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

const lookMs = 300;
const noReads = { counts: { questions: 0, refused: 0 } };

/** What is known of this replica's PostgreSQL. Texts are for people; null: nothing is wrong there. */
export interface StatementDatabase {
  readonly isUp: boolean;
  readonly trouble: string | null;
  status(): DatabaseStatus;
  close(): Promise<void>;
}

export interface StatementReplicaParts {
  readonly config: ReplicaConfig;
  readonly core: CoreHost;
  readonly proposer: Proposer;
  readonly leadership: LeadershipState;
  readonly membership: Membership;
  readonly payload: Payload;
  readonly submissions: Submissions<OperationResult>;
  readonly database: StatementDatabase;
  readonly tracker: RecoveryTracker;
  readonly events: ReplicaEvents;
  readonly log: LogStore;
  readonly transport: Transport & { faults(): readonly LinkFault[] };
  readonly timers: Timers;
  readonly logger: Logger;
  readonly onFatal: (error: Error) => void;
}

export class StatementReplica implements CoreListener {
  private readonly parts: StatementReplicaParts;
  private readonly stopWatching: (() => void)[] = [];
  private readonly trouble: LogTrouble;
  private roomIsTold = false;
  private isAnnounced = false;

  constructor(parts: StatementReplicaParts) {
    this.parts = parts;
    const { core, events, logger } = parts;
    this.trouble = new LogTrouble({
      events,
      logger,
      stepDown: () => core.input({ kind: 'StepDown', reason: 'logFailed' }),
    });
    parts.transport.onControl((from, message) => this.control(from, message));
  }

  /** From here on it votes, and executes. */
  start(): void {
    const { core, payload, events, timers } = this.parts;
    core.start(this);
    events.onLevel((level) => core.trace(level));
    payload.start();
    this.stopWatching.push(timers.every(lookMs, () => this.holdCampaign()));
  }

  /** A replica without a working database or log must not lead. */
  private holdCampaign(): void {
    if (troubleOf(this.facts()) === null) return;
    this.parts.core.input({ kind: 'StepDown', reason: 'requested' });
  }

  /** Null: sessions may be opened here. */
  whyNot(): string | null {
    const { leadership, membership, database } = this.parts;
    if (membership.removed !== null) return membership.removed;
    const trouble = troubleOf(this.facts());
    if (trouble !== null) return trouble.message ?? trouble.state;
    if (!database.isUp) return 'its PostgreSQL is starting';
    return leadership.leader === null ? 'no leader is known' : null;
  }

  /** Not within a step of the core. */
  give(operation: Uint8Array): Given {
    const { leadership, proposer } = this.parts;
    if (leadership.role === 'leader' && leadership.serving) {
      const { code } = proposer.propose(operation);
      if (code === 'proposed') return { code: 'given' };
      if (code === 'windowFull') return { code: 'full' };
    }
    const { leader } = leadership;
    return { code: 'elsewhere', to: leader === this.parts.log.identity.member ? null : leader };
  }

  // ------------------------------------------------------------------------------------------- what the core says

  chosen(entries: readonly SlotEntry[]): void {
    const { payload, submissions } = this.parts;
    if (!submissions.isEmpty)
      for (const { entry } of entries) if (entry.kind === 'command') this.noteOrdered(entry.payload);
    payload.chosen(entries);
    this.announce();
    this.tellRoom();
  }

  /** Followers answer their clients when they know what is chosen: they hear of it in this turn, and not with the next entry. */
  private announce(): void {
    const { leadership, timers, core } = this.parts;
    if (leadership.role !== 'leader' || this.isAnnounced) return;
    this.isAnnounced = true;
    timers.soon(() => {
      this.isAnnounced = false;
      core.announce();
    });
  }

  private noteOrdered(payload: Uint8Array): void {
    try {
      this.parts.submissions.ordered(keyOf(decodeOperation(payload)));
    } catch {
      // Whoever executes it says what is wrong with it.
    }
  }

  logIdle(): void {
    this.tellRoom();
  }

  private tellRoom(): void {
    if (this.roomIsTold || !this.parts.leadership.serving) return;
    this.roomIsTold = true;
    queueMicrotask(() => {
      this.roomIsTold = false;
      this.parts.submissions.turn();
    });
  }

  proposal(effect: EffectOf<'proposed' | 'refused'>): void {
    this.parts.proposer.onProposal(effect);
  }

  leadership(effect: EffectOf<'leadership'>): void {
    const { leadership, payload, submissions, logger } = this.parts;
    const isNews = leadership.take(effect);
    if (effect.serving) payload.lead(effect.ballot);
    else payload.follow();
    if (!isNews) return;
    const { role, leader, serving, ballot, reason } = effect;
    logger.info({ role, leader, serving, ballot, reason }, 'leadership');
    submissions.anew();
  }

  configuration(effect: EffectOf<'configuration'>): void {
    this.parts.membership.onConfiguration(effect);
  }

  reconfigured(effect: EffectOf<'reconfigured'>): void {
    this.parts.membership.onReconfigured(effect);
  }

  handOver(): void {
    // Nobody asks for one: clients are served by every replica, and go on whoever leads.
  }

  disbelieved({ member, claimed, lastSlot }: EffectOf<'disbelieved'>): void {
    this.parts.logger.error({ member, claimed, lastSlot }, 'a member tells what cannot be, and is not heard');
  }

  trace(event: CoreTraceEvent): void {
    this.parts.events.consensus(event);
  }

  traceLease(event: CoreLeaseEvent): void {
    this.parts.events.lease(event, () => this.parts.timers.nowMs());
  }

  purgedByPeer(peer: ReplicaId, purgedTo: Slot): void {
    this.parts.logger.warn({ peer, purgedTo }, 'what this replica lacks is in the log of a peer no more');
  }

  purged(): void {
    this.parts.payload.purged();
  }

  logTrouble(error: Error | null): void {
    this.trouble.note(error);
  }

  fatal(error: Error): void {
    this.parts.onFatal(error);
  }

  // ------------------------------------------------------------------------------------------------ what others say

  onRemoved(why: string): void {
    this.parts.logger.error({ why }, 'this replica is no member any more');
    this.parts.core.input({ kind: 'StepDown', reason: 'removed' });
  }

  private control(_from: ReplicaId, message: ControlMessage): void {
    const { membership, submissions } = this.parts;
    if (message.kind === 'JoinRequest') membership.onJoinRequest(message);
    else if (message.kind === 'Carried' && message.channel === 'operations') submissions.take(message.bytes);
  }

  // ----------------------------------------------------------------------------------------------------- its status

  private facts(): Facts {
    const { core, membership, tracker, payload, database } = this.parts;
    const { role, commitPoint } = core.snapshot();
    return {
      removed: membership.removed,
      divergence: null,
      logTrouble: this.trouble.reason,
      databaseTrouble: database.trouble,
      lostMajority: membership.lostMajority(),
      disbelief: null,
      recovery: tracker.current(),
      databaseUp: database.isUp,
      launchStep: null,
      role,
      service: this.serviceKind(),
      pointer: payload.pointer,
      commitPoint,
    };
  }

  /** As the WAL's: only a leader serves by itself. */
  private serviceKind(): 'here' | 'at' | 'nowhere' {
    const { role, serving, leader } = this.parts.leadership;
    if (role === 'leader') return serving ? 'here' : 'nowhere';
    return leader === null ? 'nowhere' : 'at';
  }

  status(clients: number): ReplicaStatus {
    const { core, leadership, database } = this.parts;
    return statusOf({
      ...this.parts,
      database: () => database.status(),
      reads: noReads,
      shown: noReads,
      core: core.snapshot(),
      leader: leadership.leader,
      condition: conditionOf(this.facts()),
      clients,
    });
  }

  measures(): ReplicaMeasures {
    const { database } = this.parts;
    return measuresOf({ ...this.parts, handOver: { ends: noHandOvers }, database: () => database.status() });
  }

  async stop(): Promise<void> {
    const { core, submissions, payload, database, transport, log } = this.parts;
    for (const stop of this.stopWatching) stop();
    core.input({ kind: 'StepDown', reason: 'requested' });
    submissions.stop();
    await payload.stop();
    core.stop();
    await database.close();
    await transport.close();
    await log.close();
  }
}
