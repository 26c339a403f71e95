/**
 * One replica: its log, its PostgreSQL, its peers and its gateways around the consensus core.
 *
 * Responsible for: which part hears what of which, and the order in which they start and stop. Every rule about votes, slots or transactions is elsewhere;
 * handing over the database is handover.ts, members are membership.ts, PostgreSQL and its copies database-keeper.ts.
 */
import type { Logger } from 'pino';
import { createOrderedApply, type OrderedApply } from '../apply/ordered-apply.ts';
import type { LinkFault, ReplicaStatus } from '../api/status.ts';
import { replicaOf } from '../multipaxos/configuration.ts';
import { entryLabel } from '../multipaxos/entry.ts';
import type { Effect, ReplicaId, Slot } from '../multipaxos/types.ts';
import type { Clock } from '../ports/clock.ts';
import type { ControlMessage } from '../ports/control.ts';
import type { DigestSource } from '../ports/digest.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { Transport } from '../ports/transport.ts';
import { Admin } from './admin.ts';
import { conditionOf, troubleOf, type Facts } from './status/condition.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { CoreHost, coreConfigOf } from './consensus/core-host.ts';
import type { DatabaseKeeper } from './database-keeper.ts';
import { DatabaseSide, type Joined } from './database-side.ts';
import type { ReplicaEvents } from './status/events.ts';
import { Handover } from './handover.ts';
import { leadershipReason } from './consensus/leadership-reason.ts';
import { Membership } from './members/membership.ts';
import { Proposals } from './proposals.ts';
import type { RecoveryTracker } from './database/recovery-progress.ts';
import { ReplicaService } from './service.ts';
import { statusOf } from './status/status-report.ts';
import { Verification } from './verify/verification.ts';
import { Watch } from './status/watch.ts';

type LeadershipEffect = Extract<Effect, { kind: 'leadership' }>;
type Leadership = Pick<LeadershipEffect, 'role' | 'leader' | 'serving'>;

const TICK_MS = 20;
const FLUSH_MS = 1000;
const FOLD_MS = 100;
const CAMPAIGN_HOLD_MS = 300;
const WATCH_MS = 250;
const VERIFY_LOOK_MS = 5000;
/** How long a leader's database may stand still while something chosen waits for it. */
const DATABASE_STALL_MS = 15_000;

export interface ReplicaParts {
  readonly log: LogStore;
  readonly transport: Transport & { faults(): readonly LinkFault[] };
  readonly keeper: DatabaseKeeper;
  /** Null while PostgreSQL is away. */
  readonly digests: () => DigestSource | null;
  readonly events: ReplicaEvents;
  readonly tracker: RecoveryTracker;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Null: it had a log. */
  readonly joined: Joined | null;
  /** The process cannot go on: a broken invariant, a failing log. */
  readonly onFatal: (error: Error) => void;
  readonly databaseStallMs?: number;
}

export class Replica {
  readonly events: ReplicaEvents;
  readonly service: ReplicaService;
  readonly membership: Membership;
  readonly admin: Admin;
  private readonly config: ReplicaConfig;
  private readonly parts: ReplicaParts;
  private readonly member: ReplicaId;
  private readonly host: CoreHost;
  private readonly apply: OrderedApply;
  private readonly proposals: Proposals;
  private readonly handover: Handover;
  readonly database: DatabaseSide;
  private readonly watch: Watch;
  private readonly verification: Verification;
  private readonly timers: NodeJS.Timeout[] = [];
  private leadership: Leadership = { role: 'follower', leader: null, serving: false };
  /** Each goes when its own cause does. */
  private logTrouble: string | null = null;
  private transactions = 0;

  constructor(config: ReplicaConfig, parts: ReplicaParts) {
    const { log, transport, keeper, logger, events, clock } = parts;
    this.config = config;
    this.parts = parts;
    this.events = events;
    this.member = log.identity.member;
    events.become(this.member);
    this.proposals = this.createProposals();
    this.verification = this.createVerification();
    this.apply = this.createApply();
    this.service = new ReplicaService({
      id: config.id,
      partBytesMax: config.bounds.partBytesMax,
      proposals: this.proposals,
      pgwireOf: (id) => this.membership.addressOf(id)?.pgwire ?? null,
      coreLeaseHeld: () => this.host.leaseHeld(),
      commitPoint: () => this.host.commitPoint,
      apply: this.apply,
      onCommitted: (slot) => this.committed(slot),
      onCommitFailed: (slot, reason) => this.commitFailed(slot, reason),
      onFatal: parts.onFatal,
      leasePollMs: 10,
    });
    this.membership = new Membership({
      member: this.member,
      cluster: log.identity.cluster,
      configuration: log.recovered.configuration,
      transport,
      reconfigure: (id, change) => this.host.input({ kind: 'Reconfigure', id, change }),
      leadership: () => this.leadership,
      purgedTo: () => log.stats().purgedTo,
      nowMs: () => clock.nowMs(),
      logger,
      onRemoved: (why) => this.onRemoved(why),
    });
    this.handover = new Handover({
      apply: this.apply,
      logger,
      commitPoint: () => this.host.commitPoint,
      configuration: () => this.membership.configuration,
      restored: (slot, configuration) => this.host.input({ kind: 'Restored', slot, configuration }),
      leadershipKnown: (ballot) => this.host.input({ kind: 'LeadershipKnown', ballot }),
      suspect: () => keeper.suspect(),
      retryMs: 5000,
    });
    this.database = new DatabaseSide({
      ...parts,
      config,
      handover: this.handover,
      membership: this.membership,
      verification: this.verification,
      leader: () => this.leadership.leader,
      stepDown: () => this.host.input({ kind: 'StepDown', reason: 'databaseFailed' }),
      purgeApplied: () => this.host.input({ kind: 'LogPressure' }),
    });
    this.host = this.createHost();
    this.watch = new Watch({
      snapshot: () => this.host.snapshot(),
      pointer: () => this.apply.pointer,
      logBytes: () => log.stats().bytes,
      logBytesMax: config.bounds.logBytesMax,
      databaseStallMs: parts.databaseStallMs ?? DATABASE_STALL_MS,
      nowMs: () => clock.nowMs(),
      tracker: parts.tracker,
      logger,
      isApplying: () => this.handover.isApplying,
      needsLog: () => this.handover.needsLog,
      isHealthy: () => this.membership.isVoter() && this.service.service().kind !== 'nowhere',
      onStalled: (serving) => {
        if (serving) keeper.suspect();
        this.host.input({ kind: 'StepDown', reason: 'databaseFailed' });
      },
      onLogPressure: () => this.database.relieveLog(),
      onLogPurged: (reason) => keeper.lose({ cause: 'logPurged', reason }),
    });
    this.admin = new Admin({
      membership: this.membership,
      verification: this.verification,
      leadership: () => this.leadership,
      nowMs: () => clock.nowMs(),
      verifyEveryMs: config.verify.everyMinutes * 60_000,
    });
    transport.onControl((from, message) => this.onControl(from, message));
  }

  private createProposals(): Proposals {
    return new Proposals({
      client: `${this.member}.${this.events.run}`,
      queueMax: 10_000,
      queueBytesMax: 64 * 1024 * 1024,
      groupMax: 256,
      // Long enough for another leader to be elected and to begin.
      doubtMs: 2000 + 3 * this.config.timings.electionTimeoutMaxMs,
      propose: (proposals) => this.host.input({ kind: 'Propose', proposals }),
      busy: () => this.host.logBusy,
      onEvent: (event) => this.events.apply(event),
    });
  }

  private createApply(): OrderedApply {
    const { log } = this.parts;
    return createOrderedApply({
      log: { read: (from, to, bytesMax) => this.host.readChosen(from, to, bytesMax) },
      commitPoint: log.recovered.commitPoint,
      onApplied: (slot, durableSlot) => {
        this.handover.applied();
        this.host.input({ kind: 'Applied', slot, durableSlot });
      },
      onEvent: (event) => this.events.apply(event),
      onDiverged: (reason) => this.database.diverged({ reason }, false),
      onDatabaseDown: (error) => this.database.failed(error),
      verify: this.verification.hooks,
      onCopyNeeded: (reason) => this.parts.keeper.lose({ cause: 'logPurged', reason }),
      batchEntriesMax: 200,
      batchBytesMax: 4 * 1024 * 1024,
      queueEntriesMax: 2000,
    });
  }

  private createVerification(): Verification {
    const { transport, clock, logger, digests } = this.parts;
    return new Verification({
      self: this.config.id,
      run: this.events.run,
      digests,
      transport,
      leadership: () => this.leadership,
      propose: (payload) => this.proposals.proposeAlone(payload),
      members: () => this.membership.joined(),
      nowMs: () => clock.nowMs(),
      timeoutMs: this.config.verify.timeoutMinutes * 60_000,
      logger,
      onResult: (result) => this.events.operation({ name: 'VerifyDone', result }),
      onDiffers: (loss, repair) => this.database.diverged(loss, repair),
    });
  }

  private createHost(): CoreHost {
    const { config, parts } = this;
    return new CoreHost({
      config: coreConfigOf(config, this.member),
      log: parts.log,
      transport: parts.transport,
      clock: parts.clock,
      random: parts.random,
      tickMs: TICK_MS,
      logRetryMs: 500,
      catchUpBytesMax: config.bounds.acceptBatchBytesMax,
      onChosen: (entries) => {
        this.apply.chosen(entries);
        this.proposals.onChosen(entries);
        if (this.handover.blocked !== null) this.verification.passOver(entries, this.handover.blocked);
      },
      onProposal: (effect) => this.proposals.onProposal(effect),
      onLeadership: (effect) => this.onLeadership(effect),
      onConfiguration: (effect) => this.membership.onConfiguration(effect),
      onReconfigured: (effect) => this.membership.onReconfigured(effect),
      onTrace: (event) => this.events.consensus(event),
      onLogIdle: () => this.proposals.flush(),
      onLogTrouble: (error) => this.onLogTrouble(error),
      onDisbelieved: (effect) => this.watch.disbelieved(effect),
      onPurgedByPeer: (peer, purgedTo) => this.watch.purgedByPeer(peer, purgedTo),
      onFatal: parts.onFatal,
    });
  }

  /** Starts PostgreSQL and the timers. The core has been voting since the constructor returned. */
  start(): void {
    this.database.start();
    this.every(FLUSH_MS, () => void this.apply.flush());
    this.every(FOLD_MS, () => void this.apply.foldPointer());
    this.every(CAMPAIGN_HOLD_MS, () => this.holdCampaign());
    this.every(WATCH_MS, () => this.watch.tick());
    this.every(VERIFY_LOOK_MS, () => this.admin.tick());
  }

  private every(periodMs: number, work: () => void): void {
    this.timers.push(setInterval(work, periodMs));
  }

  /** A replica without a working database or log must not lead: each request restarts its election timer. */
  private holdCampaign(): void {
    if (!this.handover.hasDatabase || troubleOf(this.facts()) !== null) {
      this.host.input({ kind: 'StepDown', reason: 'requested' });
    }
  }

  private onLeadership(effect: LeadershipEffect): void {
    const { role, leader, serving } = this.leadership;
    this.leadership = effect;
    if (effect.serving && !serving) {
      this.apply.lead(effect.ballot);
      this.service.serveHere(effect.ballot);
    } else if (!effect.serving) {
      const removed = this.membership.removed;
      const known = effect.leader === null || removed !== null ? null : replicaOf(effect.leader);
      this.service.serveElsewhere(known, removed ?? leadershipReason(effect.reason));
      if (serving) this.handover.followLog();
    }
    if (effect.role !== role || effect.leader !== leader || effect.serving !== serving) {
      const { ballot, reason } = effect;
      this.parts.logger.info(
        { role: effect.role, leader: effect.leader, serving: effect.serving, ballot, reason },
        'leadership',
      );
    }
  }

  private onRemoved(why: string): void {
    this.parts.logger.error({ why }, 'this replica is no member any more');
    // Told while it is being put together, too: then there is nothing to take back.
    setImmediate(() => {
      this.host.input({ kind: 'StepDown', reason: 'removed' });
      this.service.serveElsewhere(null, why);
    });
  }

  private onControl(from: ReplicaId, message: ControlMessage): void {
    switch (message.kind) {
      case 'JoinRequest':
        this.membership.onJoinRequest(message);
        return;
      case 'JoinReply':
        return;
      case 'VerifyReport':
        this.verification.onReport(from, message);
        return;
      case 'VerifyVerdict':
        this.verification.onVerdict(message);
        return;
      default:
        message satisfies never;
    }
  }

  private committed(slot: Slot): void {
    this.transactions++;
    const entry = this.host.entryAt(slot);
    if (entry !== undefined) this.events.apply({ name: 'CommitChosen', slot, label: entryLabel(entry) });
    this.apply.committed(slot);
  }

  private commitFailed(slot: Slot, reason: string): void {
    // Of an earlier leadership: its log is being applied, or has been.
    if (!this.apply.awaitsSession(slot)) return;
    this.parts.logger.warn(
      { slot, reason },
      'a chosen transaction could not be committed; recovering from the log',
    );
    this.host.input({ kind: 'StepDown', reason: 'databaseFailed' });
  }

  private onLogTrouble(error: Error | null): void {
    if (error === null) {
      this.logTrouble = null;
      this.events.operation({ name: 'LogResumed', reason: 'the log can be written again' });
      return;
    }
    this.logTrouble = error.message;
    this.parts.logger.error(
      { err: error },
      'the log cannot be written; this replica does not vote until it can',
    );
    this.events.operation({ name: 'LogFull', reason: error.message });
    this.host.input({ kind: 'StepDown', reason: 'logFailed' });
  }

  private facts(): Facts {
    const { role, commitPoint } = this.host.snapshot();
    return {
      removed: this.membership.removed,
      divergence: this.handover.blocked,
      logTrouble: this.logTrouble,
      databaseTrouble: this.database.trouble,
      databaseFull: this.handover.full,
      lostMajority: this.membership.lostMajority(),
      disbelief: this.watch.disbelief,
      recovery: this.parts.tracker.current(),
      databaseUp: this.handover.hasDatabase,
      launchStep: this.parts.keeper.launchStep,
      role,
      service: this.service.service().kind,
      pointer: this.apply.pointer,
      commitPoint,
    };
  }

  status(clients: number, reads: number): ReplicaStatus {
    const { config, parts, membership, apply, transactions } = this;
    return statusOf({
      ...parts,
      config,
      membership,
      apply,
      core: this.host.snapshot(),
      leader: this.leadership.leader,
      condition: conditionOf(this.facts()),
      counters: { transactions, reads },
      clients,
    });
  }

  /** Leaves leadership, ends sessions, stops PostgreSQL, closes the log. Gateways are closed by the caller first. */
  async stop(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    this.host.input({ kind: 'StepDown', reason: 'requested' });
    this.service.serveElsewhere(null, 'the replica is stopping');
    this.proposals.close();
    this.verification.stop();
    await this.handover.stop();
    this.host.stop();
    await this.parts.keeper.stop();
    await this.parts.transport.close();
    await this.parts.log.close();
  }
}
