/**
 * One replica: what each of its parts hears of the others, and the order in which they start and stop.
 *
 * Responsible for: carrying the core's words to the payload, the members and the clients' service. Every rule about votes, slots or WAL is elsewhere; how the parts are put together is main/assemble-replica.ts.
 */
import type { Logger } from 'pino';
import type { ReplicaMeasures } from '../api/measures.ts';
import type { LinkFault, ReplicaStatus } from '../api/status.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { Effect } from '../multipaxos/types/effects.ts';
import type { SlotEntry } from '../multipaxos/types/entries.ts';
import type { CoreLeaseEvent } from '../multipaxos/types/lease-trace.ts';
import { replicaOf } from '../multipaxos/configuration.ts';
import type { LeaderNote, Pace } from '../multipaxos/types/messages.ts';
import type { Ballot, ReplicaId, Slot } from '../multipaxos/types/names.ts';
import type { CoreTraceEvent } from '../multipaxos/types/trace.ts';
import type { Payload } from '../payload/payload.ts';
import type { Archiving } from '../payload/wal/archiving.ts';
import type { ControlMessage } from '../ports/control.ts';
import type { Timers } from '../ports/clock.ts';
import type { LogStore } from '../ports/log-store.ts';
import { notesCameWith, type Transport } from '../ports/transport.ts';
import type { Admin } from './admin.ts';
import type { CoreHost, CoreListener } from './consensus/core-host.ts';
import type { GroupInterval } from './consensus/group-interval.ts';
import type { HandOver, HandOverOutcome } from './consensus/hand-over.ts';
import { leadershipReason } from './consensus/leadership-reason.ts';
import type { LeadershipState } from './consensus/leadership-state.ts';
import type { Proposer } from './consensus/proposer.ts';
import type { Checkups } from './database/checkup.ts';
import type { DamagedLeader } from './database/damaged-leader.ts';
import type { FileLooks } from './database/file-looks.ts';
import type { DatabaseHealth } from './database/database-health.ts';
import type { RecoveryTracker } from './database/recovery-progress.ts';
import type { Membership } from './members/membership.ts';
import type { PaceWatch } from './pace/pace-watch.ts';
import type { FollowerReads } from './serving/follower-reads.ts';
import type { ReplicaService } from './serving/service.ts';
import type { ShownAnswers } from './serving/shown-answers.ts';
import type { ShownByLeader } from './serving/shown-by-leader.ts';
import { conditionOf, troubleOf, type Facts } from './status/condition.ts';
import type { ReplicaEvents } from './status/events.ts';
import { LogTrouble } from './status/log-trouble.ts';
import { measuresOf } from './status/measures-report.ts';
import { statusOf, type DatabaseStatus } from './status/status-report.ts';
import type { Watch } from './status/watch.ts';
import type { Verification } from './verify/verification.ts';

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

/** One timer for what has to be looked at now and then: each wakes the process, also of a cluster that nobody uses. */
const lookMs = 300;
const verifyLookMs = 5000;
/** Of a leader that is being stopped: transactions that are open have so long to end. */
const stopTransactionMs = 500;
/** Where all are stopped together nobody leads any more. */
const stopElectedMs = 1000;

/** All that a replica consists of. */
export interface ReplicaParts {
  readonly config: ReplicaConfig;
  readonly core: CoreHost;
  readonly proposer: Proposer;
  readonly handOver: HandOver;
  /** Null: groups are what gathers while the log is written to. */
  readonly groupInterval: GroupInterval | null;
  readonly pace: PaceWatch;
  readonly leadership: LeadershipState;
  readonly payload: Payload;
  readonly membership: Membership;
  readonly service: ReplicaService;
  readonly reads: FollowerReads;
  readonly shown: ShownByLeader;
  readonly shownAnswers: ShownAnswers;
  readonly verification: Verification;
  readonly watch: Watch;
  readonly checkups: Checkups;
  readonly fileLooks: FileLooks;
  readonly damagedLeader: DamagedLeader;
  readonly admin: Admin;
  /** Null: no WAL is archived. */
  readonly archiving: Archiving | null;
  readonly health: DatabaseHealth;
  readonly tracker: RecoveryTracker;
  readonly events: ReplicaEvents;
  readonly log: LogStore;
  readonly transport: Transport & { faults(): readonly LinkFault[] };
  readonly database: () => DatabaseStatus;
  /** The payload has stopped: whatever it used may go. */
  readonly closeDatabase: () => Promise<void>;
  readonly timers: Timers;
  readonly logger: Logger;
  /** The process cannot go on: a broken invariant, a failing log. */
  readonly onFatal: (error: Error) => void;
}

export class Replica implements CoreListener {
  private readonly parts: ReplicaParts;
  private readonly stopWatching: (() => void)[] = [];
  private readonly trouble: LogTrouble;
  private roomIsTold = false;
  private isStopping = false;

  constructor(parts: ReplicaParts) {
    this.parts = parts;
    const { core, events, logger } = parts;
    this.trouble = new LogTrouble({
      events,
      logger,
      stepDown: () => core.input({ kind: 'StepDown', reason: 'logFailed' }),
    });
    parts.transport.onControl((from, message) => this.control(from, message));
  }

  get service(): ReplicaService {
    return this.parts.service;
  }

  get membership(): Membership {
    return this.parts.membership;
  }

  get handingOver(): HandOver {
    return this.parts.handOver;
  }

  get admin(): Admin {
    return this.parts.admin;
  }

  /** From here on it votes, and PostgreSQL is started. */
  start(): void {
    const { core, payload, watch, checkups, fileLooks, admin } = this.parts;
    core.start(this);
    this.parts.events.onLevel((level) => core.trace(level));
    payload.start();
    this.parts.archiving?.start();
    this.every(lookMs, () => {
      this.holdCampaign();
      watch.tick();
      this.parts.pace.tick();
    });
    this.stopWatching.push(checkups.start(), fileLooks.start());
    this.every(verifyLookMs, () => admin.tick());
  }

  private every(periodMs: number, work: () => void): void {
    this.stopWatching.push(this.parts.timers.every(periodMs, work));
  }

  /**
   * A replica without a working database or log must not lead: each request restarts its election timer. One that was elected all the same, between two looks, gives up: as long as it leads nobody else does,
   * and what it lacks may be with one whose WAL goes on when that one leads (Resume).
   */
  private holdCampaign(): void {
    if (troubleOf(this.facts()) === null) return;
    this.parts.core.input({ kind: 'StepDown', reason: 'requested' });
  }

  // ------------------------------------------------------------------------------------------- what the core says

  chosen(entries: readonly SlotEntry[]): void {
    this.parts.payload.chosen(entries);
    this.tellRoom();
  }

  logIdle(tookMs: number): void {
    this.parts.groupInterval?.persisted(tookMs);
    this.parts.pace.flushed(tookMs);
    this.tellRoom();
  }

  /** After the step: the payload may propose then. */
  private tellRoom(): void {
    if (this.roomIsTold || !this.parts.leadership.serving) return;
    this.roomIsTold = true;
    queueMicrotask(() => {
      this.roomIsTold = false;
      this.parts.payload.room();
    });
  }

  proposal(effect: EffectOf<'proposed' | 'refused'>): void {
    this.parts.proposer.onProposal(effect);
  }

  leadership(effect: EffectOf<'leadership'>): void {
    const { leadership, payload, membership, service, logger } = this.parts;
    const isNews = leadership.take(effect);
    if (effect.serving) payload.lead(effect.ballot);
    else {
      service.serveElsewhere(this.leaderForClients(), membership.removed ?? leadershipReason(effect.reason));
      payload.follow();
    }
    if (!isNews) return;
    const { role, leader, serving, ballot, reason } = effect;
    logger.info({ role, leader, serving, ballot, reason }, 'leadership');
  }

  /** The payload's database is a new leader's. */
  opening(ballot: Ballot): void {
    this.parts.service.lookAhead(ballot);
  }

  /** The payload has done what a new leader must do. */
  ready(ballot: Ballot): void {
    this.parts.service.serveHere(ballot);
  }

  /** Another may lead by now: one that was stopped hears of that before its PostgreSQL is. */
  unready(reason: string): void {
    const { membership, service } = this.parts;
    service.serveElsewhere(this.leaderForClients(), membership.removed ?? reason);
  }

  private leaderForClients(): ReplicaId | null {
    const { membership, leadership } = this.parts;
    return membership.removed === null ? leadership.leader : null;
  }

  configuration(effect: EffectOf<'configuration'>): void {
    this.parts.membership.onConfiguration(effect);
  }

  reconfigured(effect: EffectOf<'reconfigured'>): void {
    this.parts.membership.onReconfigured(effect);
  }

  handOver({ code }: EffectOf<'handOver'>): void {
    this.parts.handOver.answered(code);
  }

  disbelieved(effect: EffectOf<'disbelieved'>): void {
    this.parts.watch.disbelieved(effect);
  }

  trace(event: CoreTraceEvent): void {
    this.parts.events.consensus(event);
  }

  traceLease(event: CoreLeaseEvent): void {
    this.parts.events.lease(event, () => this.parts.timers.nowMs());
  }

  purgedByPeer(peer: ReplicaId, purgedTo: Slot): void {
    this.parts.watch.purgedByPeer(peer, purgedTo);
  }

  purged(from: Slot, slot: Slot): void {
    const { payload, events, watch } = this.parts;
    payload.purged();
    events.apply({ name: 'Purge', from, slot, why: watch.isPressing ? 'pressure' : 'everybody' });
  }

  leaderNote(): LeaderNote {
    const serves = this.parts.service.service().kind === 'here';
    return this.parts.pace.asksLinks ? { serves, asksLinks: true } : { serves };
  }

  leaderNoted(ballot: Ballot, note: LeaderNote): void {
    this.parts.leadership.leaderNoted(ballot, note);
  }

  pace(): Pace | null {
    return this.parts.pace.pace;
  }

  answered(from: ReplicaId, tookMs: number, pace: Pace | null): void {
    this.parts.pace.answered(from, tookMs, pace);
  }

  /** Of a follower. A leader of an older version does not say whether it serves: that it leads has to do. */
  leaderServes(): boolean {
    const { leadership, transport } = this.parts;
    const { leader, note } = leadership;
    if (leader === null) return false;
    if (note !== null) return note.serves;
    return (transport.versionOf(replicaOf(leader)) ?? notesCameWith) < notesCameWith;
  }

  logTrouble(error: Error | null): void {
    this.trouble.note(error);
  }

  fatal(error: Error): void {
    this.parts.onFatal(error);
  }

  // ------------------------------------------------------------------------------------------------ what others say

  onRemoved(why: string): void {
    const { core, service, logger } = this.parts;
    logger.error({ why }, 'this replica is no member any more');
    core.input({ kind: 'StepDown', reason: 'removed' });
    service.serveElsewhere(null, why);
  }

  private control(from: ReplicaId, message: ControlMessage): void {
    const { membership, verification, reads, shown, shownAnswers } = this.parts;
    switch (message.kind) {
      case 'JoinRequest':
        membership.onJoinRequest(message);
        return;
      case 'JoinReply':
        return;
      case 'VerifyQuestion':
        verification.onQuestion(from, message);
        return;
      case 'VerifyReport':
        verification.onReport(from, message);
        return;
      case 'VerifyVerdict':
        verification.onVerdict(message);
        return;
      case 'ReadIndexQuestion':
        reads.answerReadIndex(from, message);
        return;
      case 'ReadIndexAnswer':
        reads.handleReadIndex(message);
        return;
      case 'ShownQuestion':
        shownAnswers.take(from, message);
        return;
      case 'ShownAnswer':
        shown.handleShown(message);
        return;
      case 'LeadQuestion':
        this.parts.handOver.answerQuestion(from, message, this.whyNotLead(), this.parts.payload.pointer);
        return;
      case 'LeadAnswer':
        this.parts.handOver.handleAnswer(from, message);
        return;
      case 'Carried':
        if (message.channel === 'persistence') this.parts.groupInterval?.take(message.bytes);
        else if (message.channel === 'links') this.parts.pace.takeLink(from, message.bytes);
        return;
      default:
        message satisfies never;
    }
  }

  // ----------------------------------------------------------------------------------------------------- its status

  private facts(): Facts {
    const { core, membership, health, watch, tracker, service, payload, damagedLeader, pace } = this.parts;
    const { role, commitPoint } = core.snapshot();
    const { kind } = service.service();
    return {
      removed: membership.removed,
      divergence: health.fenced,
      logTrouble: this.trouble.reason,
      // What it serves with is given up when another one leads.
      databaseTrouble: kind === 'here' ? health.absence : health.trouble,
      damage: damagedLeader.word,
      lostMajority: membership.lostMajority(),
      disbelief: watch.disbelief,
      slowness: pace.message,
      recovery: tracker.current(),
      databaseUp: health.up,
      applyStands: health.paused,
      launchStep: health.launchStep,
      role,
      service: kind,
      leaderServes: this.leaderServes(),
      pointer: payload.pointer,
      commitPoint,
    };
  }

  status(clients: number): ReplicaStatus {
    const { core, leadership } = this.parts;
    return statusOf({
      ...this.parts,
      core: core.snapshot(),
      protocol: { name: 'multi-paxos' },
      leader: leadership.leader,
      condition: conditionOf(this.facts()),
      slowness: this.parts.pace.report,
      clients,
    });
  }

  measures(): ReplicaMeasures {
    return measuresOf(this.parts);
  }

  /** Empty: it could lead now. */
  private whyNotLead(): string {
    if (this.isStopping) return 'it is being stopped';
    // A leader that hands over serves nobody in between.
    const { state, message } = conditionOf({ ...this.facts(), leaderServes: true });
    if (state !== 'serving') return `it is ${state}${message === null ? '' : ` (${message})`}`;
    return this.parts.membership.isVoter() ? '' : 'it is no voter';
  }

  /** Before it stops: a leader has another lead, if somebody can. Nothing rests on it. */
  async handOverToStop(): Promise<HandOverOutcome> {
    this.isStopping = true;
    return this.parts.handOver.run({ to: null, transactionMs: stopTransactionMs, electedMs: stopElectedMs });
  }

  /** Why nobody may copy this replica's database now; null if they may. */
  whyNoCopy(): string | null {
    const { membership, health, config } = this.parts;
    if (membership.removed !== null) return `${config.id} is no member any more`;
    if (health.fenced !== null) return `the data of ${config.id} differs from the others'`;
    return health.up && health.trouble === null ? null : `the database of ${config.id} is not in service`;
  }

  /** It leads, and is not alone. */
  leadsOthers(): boolean {
    const { leadership, membership } = this.parts;
    return leadership.serving && membership.others().length > 0;
  }

  /** Ends sessions, stops PostgreSQL in order, leaves leadership, closes the log. Gateways are closed by the caller first. */
  async stop(): Promise<void> {
    const { core, service, verification, payload, archiving, transport, log, closeDatabase } = this.parts;
    for (const stop of this.stopWatching) stop();
    verification.stop();
    service.serveElsewhere(null, 'the replica is stopping');
    // A primary ends while it leads, so that what it writes last is chosen.
    await payload.stop();
    await archiving?.stop();
    core.input({ kind: 'StepDown', reason: 'requested' });
    core.stop();
    await closeDatabase();
    await transport.close();
    await log.close();
  }
}
