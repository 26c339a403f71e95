/**
 * Multi-Paxos for statements: one leader proposes, and the others give it what their clients want.
 *
 * Responsible for: carrying the core's words to the members, to who is told of leaders, and to the replica. Decides nothing about consensus.
 */
import type { ReplicaMeasures } from '../../api/measures.ts';
import type { ProtocolStatus } from '../../api/status.ts';
import type { Effect } from '../../multipaxos/types/effects.ts';
import type { Entry, SlotEntry } from '../../multipaxos/types/entries.ts';
import type { CoreLeaseEvent } from '../../multipaxos/types/lease-trace.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { CoreTraceEvent, TraceLevel } from '../../multipaxos/types/trace.ts';
import type { ControlMessage } from '../../ports/control.ts';
import type { CoreHost, CoreListener } from '../consensus/core-host.ts';
import { coreHostOf } from '../consensus/core-host-of.ts';
import { LeadershipState } from '../consensus/leadership-state.ts';
import { Proposer } from '../consensus/proposer.ts';
import { Membership } from '../members/membership.ts';
import { peersOf } from '../status/measures-report.ts';
import type { AnswerOutcome } from './awaited-answers.ts';
import type { Given, ProtocolHost, ProtocolListener, ProtocolParts, Standing } from './protocol-host.ts';

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

export class MultiPaxosHost implements ProtocolHost, CoreListener {
  readonly membership: Membership;
  private readonly parts: ProtocolParts;
  private readonly core: CoreHost;
  private readonly proposer: Proposer;
  private readonly standingAt = new LeadershipState();
  private listener: ProtocolListener | null = null;
  private isAnnounced = false;
  /** The database came up, and was not given up since. */
  private isRestored = false;

  constructor(parts: ProtocolParts) {
    this.parts = parts;
    const { config, log, transport, timers, events, logger } = parts;
    const { cluster, member } = log.identity;
    this.core = coreHostOf(config, parts);
    this.proposer = new Proposer(this.core, `${member}.${events.run}`);
    this.membership = new Membership({
      member,
      cluster,
      configuration: log.recovered.configuration,
      transport,
      reconfigure: (id, change) => this.core.input({ kind: 'Reconfigure', id, change }),
      leadership: () => this.standingAt,
      purgedTo: () => log.stats().purgedTo,
      timers,
      logger,
      onRemoved: (why) => timers.soon(() => this.onRemoved(why)),
    });
  }

  get commitPoint(): Slot {
    return this.core.commitPoint;
  }

  get settledTo(): Slot {
    return this.commitPoint;
  }

  get purgedTo(): Slot {
    return this.parts.log.stats().purgedTo;
  }

  whenAnswerable(_slot: Slot, settle: (outcome: AnswerOutcome) => void): void {
    settle('acknowledged');
  }

  start(listener: ProtocolListener): void {
    this.listener = listener;
    this.core.start(this);
  }

  stop(): void {
    this.core.stop();
  }

  give(operation: Uint8Array): Given {
    const { role, serving, leader } = this.standingAt;
    if (role === 'leader' && serving) {
      const { code } = this.proposer.propose(operation);
      if (code === 'proposed') return { code: 'given' };
      if (code === 'windowFull') return { code: 'full' };
    }
    return { code: 'elsewhere', to: leader === this.parts.log.identity.member ? null : leader };
  }

  applied(slot: Slot, durableSlot: Slot): void {
    this.core.input({ kind: 'Applied', slot, durableSlot });
  }

  restored(slot: Slot): void {
    this.isRestored = true;
    this.core.input({ kind: 'Restored', slot, configuration: this.membership.configuration });
  }

  copyAwaited(): void {
    this.isRestored = false;
    this.core.input({ kind: 'CopyAwaited' });
  }

  readChosen(from: Slot, to: Slot, bytesMax: number): Promise<Entry[]> {
    return this.core.readChosen(from, to, bytesMax);
  }

  stepBack(reason: 'logFailed' | 'databaseFailed' | 'requested'): void {
    // The leader only orders, and each replica executes by itself. Where all databases are in trouble, leadership would go round and round.
    if (reason === 'databaseFailed') return;
    this.core.input({ kind: 'StepDown', reason });
  }

  onControl(_from: ReplicaId, message: ControlMessage): void {
    if (message.kind === 'JoinRequest') this.membership.onJoinRequest(message);
  }

  traceAt(level: TraceLevel): void {
    this.core.trace(level);
  }

  standing(): Standing {
    const { ballot, commitPoint, lastSlot } = this.core.snapshot();
    const { role, leader } = this.standingAt;
    const whyNot = leader === null ? 'no leader is known' : null;
    return { role, ballot, leader, commitPoint, lastSlot, service: this.service(), whyNot };
  }

  /** As the WAL's: only a leader serves by itself. */
  private service(): Standing['service'] {
    const { role, serving, leader } = this.standingAt;
    if (role === 'leader') return serving ? 'here' : 'nowhere';
    return leader === null ? 'nowhere' : 'at';
  }

  status(): ProtocolStatus {
    return { name: 'multi-paxos' };
  }

  measures(): Pick<ReplicaMeasures, 'elections' | 'peers'> {
    return { elections: this.standingAt.elections.counts, peers: peersOf(this.core) };
  }

  // ------------------------------------------------------------------------------------------- what the core says

  chosen(entries: readonly SlotEntry[]): void {
    this.listener?.chosen(entries);
    this.announce();
    this.tellRoom();
  }

  /** Followers answer their clients when they know what is chosen: they hear of it in this turn, and not with the next entry. */
  private announce(): void {
    if (this.standingAt.role !== 'leader' || this.isAnnounced) return;
    this.isAnnounced = true;
    this.parts.timers.soon(() => {
      this.isAnnounced = false;
      this.core.announce();
    });
  }

  logIdle(): void {
    this.tellRoom();
  }

  /** Each replica executes statements itself: nobody asks whether the leader serves. */
  leaderNote(): null {
    return null;
  }

  leaderNoted(): void {}

  /** Leadership does not move for a slow disk where statements travel. */
  pace(): null {
    return null;
  }

  answered(): void {}

  private tellRoom(): void {
    if (this.standingAt.serving) this.listener?.room();
  }

  proposal(effect: EffectOf<'proposed' | 'refused'>): void {
    this.proposer.onProposal(effect);
  }

  leadership(effect: EffectOf<'leadership'>): void {
    if (!this.standingAt.take(effect)) return;
    const { role, leader, serving, ballot, reason } = effect;
    this.parts.logger.info({ role, leader, serving, ballot, reason }, 'leadership');
    this.listener?.proposerChanged();
  }

  configuration(effect: EffectOf<'configuration'>): void {
    this.membership.onConfiguration(effect);
  }

  reconfigured(effect: EffectOf<'reconfigured'>): void {
    this.membership.onReconfigured(effect);
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
    if (!this.isRestored) return;
    this.isRestored = false;
    this.parts.logger.warn({ peer, purgedTo }, 'what this replica lacks is in the log of a peer no more');
    this.parts.timers.soon(() => this.listener?.copyNeeded());
  }

  purged(): void {
    this.listener?.purged();
  }

  logTrouble(error: Error | null): void {
    this.listener?.logTrouble(error);
  }

  fatal(error: Error): void {
    this.listener?.fatal(error);
  }

  private onRemoved(why: string): void {
    this.parts.logger.error({ why }, 'this replica is no member any more');
    this.core.input({ kind: 'StepDown', reason: 'removed' });
  }
}
