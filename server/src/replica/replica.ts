/**
 * One replica: its log, its PostgreSQL, its peers and its gateways around the consensus core.
 *
 * Responsible for: which part hears what of which, and the order in which they start and stop. Every rule about votes, slots or transactions is elsewhere;
 * handing over the database is handover.ts, members are membership.ts, PostgreSQL and its copies database-keeper.ts.
 */
import type { Logger } from 'pino';
import { createOrderedApply, type OrderedApply } from '../apply/ordered-apply.ts';
import type { TraceEvent } from '../api/events.ts';
import type { LinkFault, ReplicaStatus } from '../api/status.ts';
import { incarnationOf, replicaOf } from '../multipaxos/configuration.ts';
import { entryLabel } from '../multipaxos/entry.ts';
import type { Effect, Entry, ReplicaId, Slot } from '../multipaxos/types.ts';
import type { Clock } from '../ports/clock.ts';
import type { ControlMessage } from '../ports/control.ts';
import type { DatabaseError } from '../ports/database.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { Transport } from '../ports/transport.ts';
import { conditionOf, troubleOf, type Facts } from './condition.ts';
import type { ReplicaConfig } from './config.ts';
import { CoreHost } from './core-host.ts';
import type { DatabaseKeeper } from './database-keeper.ts';
import type { ReplicaEvents } from './events.ts';
import { Handover } from './handover.ts';
import { Membership } from './membership.ts';
import { Proposals } from './proposals.ts';
import type { RecoveryTracker } from './recovery-progress.ts';
import { ReplicaService } from './service.ts';
import { Watch } from './watch.ts';

type LeadershipEffect = Extract<Effect, { kind: 'leadership' }>;

const TICK_MS = 20;
const FLUSH_MS = 1000;
const FOLD_MS = 100;
const CAMPAIGN_HOLD_MS = 300;
const WATCH_MS = 250;
/** How long a leader's database may stand still while something chosen waits for it. */
const DATABASE_STALL_MS = 15_000;

export interface ReplicaParts {
  readonly log: LogStore;
  readonly transport: Transport & { faults(): readonly LinkFault[] };
  readonly keeper: DatabaseKeeper;
  readonly events: ReplicaEvents;
  readonly tracker: RecoveryTracker;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Of one that has just joined: what it had before, and what the group has purged. Null: of one that had a log. */
  readonly joined: { readonly cause: 'new' | 'logLost' | 'bothLost'; readonly purgedTo: Slot } | null;
  /** The process cannot go on: a broken invariant, a failing log. */
  readonly onFatal: (error: Error) => void;
  readonly databaseStallMs?: number;
}

export class Replica {
  readonly events: ReplicaEvents;
  readonly service: ReplicaService;
  readonly membership: Membership;
  private readonly config: ReplicaConfig;
  private readonly parts: ReplicaParts;
  private readonly member: ReplicaId;
  private readonly host: CoreHost;
  private readonly apply: OrderedApply;
  private readonly proposals: Proposals;
  private readonly handover: Handover;
  private readonly watch: Watch;
  private readonly timers: NodeJS.Timeout[] = [];
  private leadership: Pick<LeadershipEffect, 'role' | 'leader' | 'serving'> = {
    role: 'follower',
    leader: null,
    serving: false,
  };
  /** Each goes when its own cause does. */
  private logTrouble: string | null = null;
  private databaseTrouble: string | null = null;
  private transactions = 0;
  private startedAtMs = 0;

  constructor(config: ReplicaConfig, parts: ReplicaParts) {
    const { log, transport, keeper, logger, events, clock } = parts;
    this.config = config;
    this.parts = parts;
    this.events = events;
    this.member = log.identity.member;
    events.become(this.member);
    this.proposals = this.createProposals();
    this.apply = this.createApply();
    this.service = new ReplicaService({
      id: config.id,
      partBytesMax: config.bounds.partBytesMax,
      proposals: this.proposals,
      pgwireOf: (id) => this.membership.addressOf(id)?.pgwire ?? null,
      coreLeaseHeld: () => this.host.leaseHeld(),
      commitPoint: () => this.host.commitPoint,
      clearToCommit: (slot) => this.apply.clearToCommit(slot),
      outcomeOf: (proposed, waitMs) => this.apply.outcomes.awaitOutcome(proposed, waitMs),
      onCommitted: (slot) => this.committed(slot),
      onCommitFailed: (slot, reason) => this.commitFailed(slot, reason),
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
      suspect: () => keeper.suspect(),
      retryMs: 5000,
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
      isHealthy: () => this.membership.isVoter() && this.service.service().kind !== 'nowhere',
      onStalled: (serving) => {
        if (serving) keeper.suspect();
        this.host.input({ kind: 'StepDown', reason: 'databaseFailed' });
      },
      onLogPressure: () => this.host.input({ kind: 'LogPressure' }),
      onLogPurged: (reason) => keeper.lose({ cause: 'logPurged', reason }),
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
      log: { read: (from, to, bytesMax) => this.readChosen(from, to, bytesMax) },
      commitPoint: log.recovered.commitPoint,
      onApplied: (slot, durableSlot) => {
        this.handover.applied();
        this.host.input({ kind: 'Applied', slot, durableSlot });
      },
      onEvent: (event) => this.events.apply(event),
      onDiverged: (reason) => this.diverged(reason),
      onDatabaseDown: (error) => this.onApplyFailed(error),
      onCopyNeeded: (reason) => this.parts.keeper.lose({ cause: 'logPurged', reason }),
      batchEntriesMax: 200,
      batchBytesMax: 4 * 1024 * 1024,
      queueEntriesMax: 2000,
    });
  }

  private createHost(): CoreHost {
    const { config, parts } = this;
    return new CoreHost({
      config: {
        group: config.group,
        id: this.member,
        ...config.timings,
        windowSlotsMax: config.bounds.windowSlotsMax,
        windowBytesMax: config.bounds.windowBytesMax,
        acceptBatchBytesMax: config.bounds.acceptBatchBytesMax,
        catchUpSlotsMax: config.bounds.catchUpSlotsMax,
        trace: true,
      },
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
      },
      onProposal: (effect) => this.proposals.onProposal(effect),
      onLeadership: (effect) => this.onLeadership(effect),
      onConfiguration: (effect) => this.membership.onConfiguration(effect),
      onReconfigured: (effect) => this.membership.onReconfigured(effect),
      onTrace: (event) => this.events.consensus(event),
      onLogIdle: () => this.proposals.flush(),
      onLogTrouble: (error) => this.onLogTrouble(error),
      onPurgedByPeer: (peer, purgedTo) => this.watch.purgedByPeer(peer, purgedTo),
      onFatal: parts.onFatal,
    });
  }

  /** Starts PostgreSQL and the timers. The core has been voting since the constructor returned. */
  start(): void {
    const { keeper, log, joined, tracker } = this.parts;
    this.startedAtMs = this.parts.clock.nowMs();
    if (joined !== null) tracker.begin(joined.cause, 'catchingUp');
    keeper.start({
      logIsWhole: () => log.stats().purgedTo === 0,
      mayBeginEmpty: () => this.mayBeginEmpty(),
      logReaches: (pointer) => pointer >= log.stats().purgedTo,
      causeOfMissing: () => (joined === null ? 'databaseLost' : joined.cause === 'new' ? 'new' : 'bothLost'),
      onUp: (database, at, copied) => {
        this.databaseTrouble = null;
        this.handover.up(database, at, copied);
      },
      onDown: (reason) => this.databaseDown(reason),
    });
    this.every(FLUSH_MS, () => void this.apply.flush());
    this.every(FOLD_MS, () => void this.apply.foldPointer());
    this.every(CAMPAIGN_HOLD_MS, () => this.holdCampaign());
    this.every(WATCH_MS, () => this.watch.tick());
  }

  /** A new group's first replica, a new one that joined while nobody had purged anything, or one that is alone. A copy is faster than a long log. */
  private mayBeginEmpty(): boolean {
    const { log, joined } = this.parts;
    if (log.stats().purgedTo > 0) return false;
    if (this.membership.others().length === 0) return true;
    return (
      log.recovered.commitPoint === 0 &&
      (joined === null || (joined.cause === 'new' && joined.purgedTo === 0))
    );
  }

  /** Whom to copy a database from, best first: a leader has enough to do, so who leads should be known. */
  sources(): ReplicaId[] {
    const { leader } = this.leadership;
    const { electionTimeoutMaxMs } = this.config.timings;
    if (leader === null && this.parts.clock.nowMs() - this.startedAtMs < 2 * electionTimeoutMaxMs) return [];
    const others = new Set(this.membership.others());
    const connected = this.parts.transport.connected().filter((peer) => others.has(peer));
    const isLeader = (peer: ReplicaId): boolean => leader !== null && peer === replicaOf(leader);
    return [...connected.filter((peer) => !isLeader(peer)), ...connected.filter(isLeader)];
  }

  /** Why nobody may copy this replica's database now; null if they may. */
  whyNoCopy(): string | null {
    if (!this.handover.isApplying) return `the database of ${this.config.id} is not in service`;
    const { removed } = this.membership;
    if (removed !== null || this.handover.blocked !== null)
      return `the data of ${this.config.id} cannot be relied on`;
    return null;
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

  private databaseDown(reason: string): void {
    if (!this.handover.hasDatabase && this.databaseTrouble !== null) {
      this.databaseTrouble = reason;
      return;
    }
    this.databaseTrouble = reason;
    this.events.apply({ name: 'DatabaseDown', reason });
    this.host.input({ kind: 'StepDown', reason: 'databaseFailed' });
    this.handover.down();
  }

  private onApplyFailed(error: DatabaseError): void {
    const { logger, keeper } = this.parts;
    if (error.code === 'databaseLost') {
      keeper.lose({ cause: 'databaseLost', reason: error.message });
      return;
    }
    logger.warn({ err: error }, 'PostgreSQL failed while applying');
    this.host.input({ kind: 'StepDown', reason: 'databaseFailed' });
    if (error.code === 'databaseFull') this.handover.retryWhenFull(error.message);
    else keeper.suspect();
  }

  private onLeadership(effect: LeadershipEffect): void {
    const { role, leader, serving } = this.leadership;
    this.leadership = effect;
    if (effect.serving && !serving) {
      this.apply.lead();
      this.service.serveHere(effect.ballot);
    } else if (!effect.serving) {
      const removed = this.membership.removed;
      const known = effect.leader === null || removed !== null ? null : replicaOf(effect.leader);
      this.service.serveElsewhere(known, removed ?? effect.reason ?? 'there is no leader');
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
      case 'VerifyVerdict':
        void from;
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

  private diverged(reason: string): void {
    this.parts.logger.error({ reason }, 'this replica differs from the others and applies no more');
    this.handover.block(reason);
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

  /** Chosen entries from the log or, where its write is still under way, from the core's memory. */
  private async readChosen(from: Slot, to: Slot, bytesMax: number): Promise<Entry[]> {
    const entries = await this.parts.log.read(from, to, bytesMax);
    if (entries.length > 0) return entries;
    const entry = this.host.entryAt(from);
    return entry === undefined ? [] : [entry];
  }

  private facts(): Facts {
    const { role, commitPoint } = this.host.snapshot();
    return {
      removed: this.membership.removed,
      divergence: this.handover.blocked,
      logTrouble: this.logTrouble,
      databaseTrouble: this.databaseTrouble,
      databaseFull: this.handover.full,
      lostMajority: this.membership.lostMajority(),
      recovery: this.parts.tracker.current(),
      databaseUp: this.handover.hasDatabase,
      role,
      service: this.service.service().kind,
      pointer: this.apply.pointer,
      commitPoint,
    };
  }

  status(clients: number, reads: number): ReplicaStatus {
    const { config, parts } = this;
    const core = this.host.snapshot();
    const connected = new Set(parts.transport.connected());
    const { bytes, segments, purgedTo } = parts.log.stats();
    const { leader } = this.leadership;
    return {
      id: config.id,
      incarnation: incarnationOf(this.member),
      membership: this.membership.status(),
      recovery: parts.tracker.current(),
      group: config.group,
      role: core.role,
      ballot: core.ballot,
      leader: leader === null ? null : replicaOf(leader),
      commitPoint: core.commitPoint,
      applicationPointer: this.apply.pointer,
      durableApplicationPointer: this.apply.durablePointer,
      lastSlot: core.lastSlot,
      ...conditionOf(this.facts()),
      pgwire: config.pgwire,
      http: config.http,
      pid: process.pid,
      postgres: parts.keeper.info(),
      clients,
      log: { bytes, segments, purgedTo },
      peers: this.membership.others().map((id) => ({ id, connected: connected.has(id) })),
      faults: parts.transport.faults(),
      counters: {
        transactions: this.transactions,
        reads,
        appliedEntries: this.apply.appliedEntries,
        droppedEvents: 0,
      },
    };
  }

  subscribe(listener: (event: TraceEvent) => void): () => void {
    return this.events.subscribe(listener);
  }

  /** Leaves leadership, ends sessions, stops PostgreSQL, closes the log. Gateways are closed by the caller first. */
  async stop(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    this.host.input({ kind: 'StepDown', reason: 'requested' });
    this.service.serveElsewhere(null, 'the replica is stopping');
    this.proposals.close();
    await this.handover.stop();
    this.host.stop();
    await this.parts.keeper.stop();
    await this.parts.transport.close();
    await this.parts.log.close();
  }
}
