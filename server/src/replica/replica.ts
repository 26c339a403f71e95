/**
 * One replica: its log, its PostgreSQL, its peers and its gateways around the consensus core.
 *
 * Responsible for: the order in which parts start, hand over and stop. Every rule about votes, slots or transactions is elsewhere.
 *
 * Handing over leadership, always in this order: clients are told (their sessions end), their PostgreSQL sessions are ended and what they
 * had prepared is rolled back, the database is asked how far it is, and only then the log is applied. Taking over: everything chosen is
 * applied, the core says `serving`, sessions are let in.
 */
import type { Logger } from 'pino';
import { createOrderedApply, type OrderedApply } from '../apply/ordered-apply.ts';
import type { TraceEvent } from '../api/events.ts';
import type { LinkFault, ReplicaCondition, ReplicaStatus } from '../api/status.ts';
import { entryLabel } from '../multipaxos/entry.ts';
import type { Effect, Entry, Slot } from '../multipaxos/types.ts';
import type { Clock } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { Transport } from '../ports/transport.ts';
import type { ReplicaConfig } from './config.ts';
import { CoreHost } from './core-host.ts';
import type { DatabaseKeeper } from './database-keeper.ts';
import { ReplicaEvents } from './events.ts';
import { Proposals } from './proposals.ts';
import { ReplicaService } from './service.ts';

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
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** The process cannot go on: a broken invariant, a failing log. */
  readonly onFatal: (error: Error) => void;
  readonly databaseStallMs?: number;
}

interface Trouble {
  readonly condition: ReplicaCondition;
  readonly message: string;
}

export class Replica {
  readonly events: ReplicaEvents;
  readonly service: ReplicaService;
  private readonly config: ReplicaConfig;
  private readonly parts: ReplicaParts;
  private readonly host: CoreHost;
  private readonly apply: OrderedApply;
  private readonly proposals: Proposals;
  private readonly timers: NodeJS.Timeout[] = [];
  private leadership: Pick<LeadershipEffect, 'role' | 'leader' | 'serving'> = {
    role: 'follower',
    leader: null,
    serving: false,
  };
  private database: Database | null = null;
  /** Hand-overs of the database, one after the other. */
  private handover: Promise<void> = Promise.resolve();
  /** Counts hand-overs: one that another has overtaken does nothing. */
  private handovers = 0;
  /** Each goes when its own cause does. */
  private divergence: string | null = null;
  private logTrouble: string | null = null;
  private databaseTrouble: string | null = null;
  /** Peers have purged the log up to here; what this replica lacks below cannot be fetched from them. */
  private purgedByPeers = 0 as Slot;
  private progress = { pointer: 0 as Slot, atMs: 0 };
  private transactions = 0;
  private stopping = false;

  constructor(config: ReplicaConfig, parts: ReplicaParts) {
    this.config = config;
    this.parts = parts;
    this.events = new ReplicaEvents(config.id);
    this.proposals = new Proposals({
      client: `${config.id}.${this.events.run}`,
      queueMax: 10_000,
      groupMax: 256,
      doubtMs: 3000,
      propose: (proposals) => this.host.input({ kind: 'Propose', proposals }),
      busy: () => this.host.logBusy,
      onEvent: (event) => this.events.apply(event),
    });
    this.apply = createOrderedApply({
      log: { read: (from, to, bytesMax) => this.readChosen(from, to, bytesMax) },
      commitPoint: parts.log.recovered.commitPoint,
      onApplied: (slot, durableSlot) => this.host.input({ kind: 'Applied', slot, durableSlot }),
      onEvent: (event) => this.events.apply(event),
      onDiverged: (reason) => this.diverged(reason),
      onDatabaseDown: (error) => {
        parts.logger.warn({ err: error }, 'PostgreSQL went away while applying');
        parts.keeper.suspect();
      },
      batchEntriesMax: 200,
      batchBytesMax: 4 * 1024 * 1024,
      queueEntriesMax: 2000,
    });
    this.service = new ReplicaService({
      id: config.id,
      partBytesMax: config.bounds.partBytesMax,
      proposals: this.proposals,
      pgwireOf: (id) => config.peers.find((peer) => peer.id === id)?.pgwire ?? null,
      coreLeaseHeld: () => this.host.leaseHeld(),
      onCommitted: (slot) => this.committed(slot),
      onCommitFailed: (slot, reason) => this.commitFailed(slot, reason),
      leasePollMs: 10,
    });
    this.host = this.createHost();
  }

  private createHost(): CoreHost {
    const { config, parts } = this;
    return new CoreHost({
      config: {
        group: config.group,
        id: config.id,
        members: config.peers.map((peer) => peer.id),
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
      onTrace: (event) => this.events.consensus(event),
      onLogIdle: () => this.proposals.flush(),
      onLogTrouble: (error) => this.onLogTrouble(error),
      onPurgedByPeer: (purgedTo) => this.onPurgedByPeer(purgedTo),
      onFatal: parts.onFatal,
    });
  }

  /** Starts PostgreSQL and the timers. The core has been voting since the constructor returned. */
  start(): void {
    this.events.operation({ name: 'ReplicaStarted', pid: process.pid });
    this.parts.keeper.start({
      onUp: (database) => this.databaseUp(database),
      onDown: (reason) => this.databaseDown(reason),
    });
    this.every(FLUSH_MS, () => void this.apply.flush());
    this.every(FOLD_MS, () => void this.apply.foldPointer());
    this.every(CAMPAIGN_HOLD_MS, () => this.holdCampaign());
    this.every(WATCH_MS, () => this.watchDatabase());
  }

  private every(periodMs: number, work: () => void): void {
    this.timers.push(setInterval(work, periodMs));
  }

  /** A replica without a working database or log must not lead: each request restarts its election timer. */
  private holdCampaign(): void {
    if (this.database === null || this.trouble() !== null) {
      this.host.input({ kind: 'StepDown', reason: 'requested' });
    }
  }

  /**
   * A leader must not keep the others waiting for a database that stands still. While it serves, only sessions bring in what was
   * chosen: one that hangs, or was lost without a word, would leave this replica behind the others for good.
   */
  private watchDatabase(): void {
    const { pointer } = this.apply;
    const { role, serving, commitPoint } = this.host.snapshot();
    const nowMs = this.parts.clock.nowMs();
    if (role !== 'leader' || pointer >= commitPoint || pointer !== this.progress.pointer) {
      this.progress = { pointer, atMs: nowMs };
      return;
    }
    if (nowMs - this.progress.atMs < (this.parts.databaseStallMs ?? DATABASE_STALL_MS)) return;
    this.progress = { pointer, atMs: nowMs };
    this.parts.logger.error(
      { pointer, commitPoint, serving },
      'the database does not take in what was chosen',
    );
    if (serving) this.parts.keeper.suspect();
    this.host.input({ kind: 'StepDown', reason: 'databaseFailed' });
  }

  private databaseUp(database: Database): void {
    this.database = database;
    this.databaseTrouble = null;
    this.followLog();
  }

  private databaseDown(reason: string): void {
    if (this.database === null && this.databaseTrouble !== null) return;
    this.database = null;
    this.databaseTrouble = reason;
    this.events.apply({ name: 'DatabaseDown', reason });
    this.host.input({ kind: 'StepDown', reason: 'databaseFailed' });
    this.handovers++;
    // At once: nothing that was read of this PostgreSQL may reach the one that comes after it.
    const stopped = this.apply.stop();
    this.handover = this.handover.then(() => stopped);
  }

  private onLeadership(effect: LeadershipEffect): void {
    const { role, leader, serving } = this.leadership;
    this.leadership = effect;
    const reason = effect.reason ?? 'there is no leader';
    if (effect.serving && !serving) {
      this.apply.lead();
      this.service.serveHere(effect.ballot);
    } else if (!effect.serving) {
      this.service.serveElsewhere(effect.leader, reason);
      if (serving) this.followLog();
    }
    if (effect.role !== role || effect.leader !== leader || effect.serving !== serving) {
      const { ballot } = effect;
      this.parts.logger.info(
        { role: effect.role, leader: effect.leader, serving: effect.serving, ballot, reason: effect.reason },
        'leadership',
      );
    }
  }

  /** Leaves the database to the log: sessions end first, then the log is applied from wherever the database is. */
  private followLog(): void {
    const { database } = this;
    const turn = ++this.handovers;
    // From this very moment no session's commit counts: the mode changes before anything else can run.
    const stopped = this.apply.stop();
    this.handover = this.handover.then(async () => {
      await stopped;
      if (database === null || turn !== this.handovers || this.stopping) return;
      try {
        await database.endSessions();
        if (turn === this.handovers && this.divergence === null) await this.apply.follow(database);
      } catch (error) {
        this.parts.logger.warn({ err: error }, 'could not hand the database over to the log');
        this.parts.keeper.suspect();
      }
    });
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
    this.divergence = reason;
    this.parts.logger.error({ reason }, 'this replica differs from the others and applies no more');
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

  private onPurgedByPeer(purgedTo: Slot): void {
    if (purgedTo <= this.purgedByPeers) return;
    this.purgedByPeers = purgedTo;
    this.parts.logger.error(this.trouble(), 'this replica cannot catch up');
  }

  /** The worst of what is wrong. */
  private trouble(): Trouble | null {
    if (this.divergence !== null) return { condition: 'diverged', message: this.divergence };
    if (this.logTrouble !== null) return { condition: 'logFull', message: this.logTrouble };
    if (this.databaseTrouble !== null) return { condition: 'databaseDown', message: this.databaseTrouble };
    const { commitPoint } = this.host.snapshot();
    if (commitPoint >= this.purgedByPeers) return null;
    const message =
      `This replica's log ends at slot ${commitPoint}, and the others have purged theirs up to ${this.purgedByPeers}: ` +
      'it cannot catch up. Restore its data directory from another replica.';
    return { condition: 'recovering', message };
  }

  /** Chosen entries from the log or, where its write is still under way, from the core's memory. */
  private async readChosen(from: Slot, to: Slot, bytesMax: number): Promise<Entry[]> {
    const entries = await this.parts.log.read(from, to, bytesMax);
    if (entries.length > 0) return entries;
    const entry = this.host.entryAt(from);
    return entry === undefined ? [] : [entry];
  }

  private condition(): ReplicaCondition {
    const trouble = this.trouble();
    if (trouble !== null) return trouble.condition;
    if (this.database === null) return 'starting';
    const { kind } = this.service.service();
    if (kind === 'here') return 'serving';
    if (this.leadership.role === 'leader') return 'recovering';
    if (this.apply.pointer + 1000 < this.host.snapshot().commitPoint) return 'recovering';
    return kind === 'at' ? 'serving' : 'noLeader';
  }

  status(clients: number, reads: number): ReplicaStatus {
    const { config, parts } = this;
    const core = this.host.snapshot();
    const connected = new Set(parts.transport.connected());
    const { bytes, segments, purgedTo } = parts.log.stats();
    return {
      id: config.id,
      group: config.group,
      role: core.role,
      ballot: core.ballot,
      leader: this.leadership.leader,
      commitPoint: core.commitPoint,
      applicationPointer: this.apply.pointer,
      durableApplicationPointer: this.apply.durablePointer,
      lastSlot: core.lastSlot,
      state: this.condition(),
      message: this.trouble()?.message ?? null,
      pgwire: config.pgwire,
      http: config.http,
      pid: process.pid,
      postgres: parts.keeper.info(),
      clients,
      log: { bytes, segments, purgedTo },
      peers: config.peers
        .filter((peer) => peer.id !== config.id)
        .map((peer) => ({ id: peer.id, connected: connected.has(peer.id) })),
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
    this.stopping = true;
    for (const timer of this.timers) clearInterval(timer);
    this.host.input({ kind: 'StepDown', reason: 'requested' });
    this.service.serveElsewhere(null, 'the replica is stopping');
    await this.apply.stop();
    await this.handover;
    this.host.stop();
    await this.parts.keeper.stop();
    await this.parts.transport.close();
    await this.parts.log.close();
  }
}
