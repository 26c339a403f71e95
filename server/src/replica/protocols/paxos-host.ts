/**
 * Single-decree Paxos for statements: nobody leads, and each replica proposes what its own clients want.
 *
 * Responsible for: feeding the pure core (server/src/paxos) one input at a time and carrying out its effects; ticks, and what is drawn; which operation is under way already.
 * Invariants: `Persisted` is told when the records are durable, and what reveals them leaves only then (the core holds it back); an operation that is under way is not proposed again; members are fixed, and nobody is let in.
 */
import { noElections, type ReplicaMeasures } from '../../api/measures.ts';
import type { ProtocolStatus } from '../../api/status.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import { replicaOf, votersOf } from '../../multipaxos/configuration.ts';
import { entryLabel, proposalLabel } from '../../multipaxos/entry.ts';
import { majority } from '../../multipaxos/quorum.ts';
import type { Entry, SlotEntry } from '../../multipaxos/types/entries.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { decidedEntry, type PaxosState } from '../../paxos/state.ts';
import { createPaxosState, learnReply, paxosStep } from '../../paxos/step.ts';
import type { PaxosConfig, PaxosEffect, PaxosInput } from '../../paxos/types/effects.ts';
import type { PaxosMessage } from '../../paxos/types/messages.ts';
import type { ControlMessage } from '../../ports/control.ts';
import type { Membership } from '../members/membership.ts';
import { fixedMembership, refuseToJoin } from './fixed-members.ts';
import { FrameError } from './frames.ts';
import { OperationsUnderWay } from './operations-under-way.ts';
import { decodePaxos, encodePaxos } from './paxos-codec.ts';
import { StepQueue } from './step-queue.ts';
import { PassedMessages, shownOfPaxos } from './passed-messages.ts';
import { PaxosTally } from './paxos-counts.ts';
import { RecordLog } from '../consensus/record-log.ts';
import type { AnswerOutcome } from './awaited-answers.ts';
import type { Given, ProtocolHost, ProtocolListener, ProtocolParts, Standing } from './protocol-host.ts';

type WithoutTime<Input = PaxosInput> = Input extends PaxosInput ? Omit<Input, 'nowMs'> : never;

/** While something is under way here, and else. */
const busyTickMs = 10;
const idleTickMs = 100;
const backoff = { backoffMs: 10, backoffMaxMs: 400, holeMs: 300 } as const;
/** Slots in which one replica stands at a time: with more of them it would only be in the others' way. */
const windowSlotsMax = 32;
/** One message must carry it (ws-transport/control-codec.ts), with the largest operation. */
const catchUpBytesMax = 1024 * 1024;
/** Of `logBytesMax`: beyond it nothing more is proposed here. */
const fullFrom = 0.9;

export function paxosConfigOf({ config, log }: ProtocolParts): PaxosConfig {
  const { group, timings, bounds } = config;
  return {
    group,
    id: log.identity.member,
    members: votersOf(log.recovered.configuration),
    retransmitMs: timings.retransmitMs,
    statusMs: timings.heartbeatMs,
    ...backoff,
    windowSlotsMax: Math.min(bounds.windowSlotsMax, windowSlotsMax),
    windowBytesMax: bounds.windowBytesMax,
    catchUpSlotsMax: bounds.catchUpSlotsMax,
    catchUpBytesMax: Math.min(bounds.acceptBatchBytesMax, catchUpBytesMax),
    trace: config.trace.file,
  };
}

export class PaxosHost implements ProtocolHost {
  readonly membership: Membership;
  private readonly parts: ProtocolParts;
  private readonly log: RecordLog;
  private readonly tally: PaxosTally;
  private readonly passed: PassedMessages<PaxosMessage>;
  private state: PaxosState;
  private listener: ProtocolListener | null = null;
  private readonly steps = new StepQueue<PaxosInput>(
    (input) => this.step(input),
    (error) => this.fail(error),
  );
  private isStopped = false;
  private isRestored = false;
  private stopTicking: (() => void) | null = null;
  private readonly under: OperationsUnderWay;

  constructor(parts: ProtocolParts) {
    this.parts = parts;
    const { log, timers, random, events } = parts;
    const { member } = log.identity;
    this.under = new OperationsUnderWay(`${member}.${events.run}`);
    this.tally = new PaxosTally(member);
    this.passed = new PassedMessages(events, shownOfPaxos);
    this.state = createPaxosState(paxosConfigOf(parts), log.recovered, timers.nowMs(), random());
    this.log = new RecordLog({
      retryMs: 500,
      log,
      timers,
      onDurable: (seq) => {
        this.input({ kind: 'Persisted', seq });
        this.listener?.room();
      },
      onTrouble: (error) => this.listener?.logTrouble(error),
      onFailed: (error) => this.fail(error),
    });
    this.membership = fixedMembership(parts, () => this.state.purgedTo);
  }

  get commitPoint(): Slot {
    return this.state.commitPoint;
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
    this.tick();
  }

  private tick(): void {
    if (this.isStopped) return;
    const { timers, random } = this.parts;
    this.input({ kind: 'Tick', random: random() });
    const { under, lastSlot, commitPoint } = this.state;
    const isBusy = under.size > 0 || lastSlot > commitPoint;
    this.stopTicking = timers.after(isBusy ? busyTickMs : idleTickMs, () => this.tick());
  }

  stop(): void {
    this.isStopped = true;
    this.stopTicking?.();
    this.log.stop();
  }

  give(operation: Uint8Array): Given {
    if (this.under.has(operation)) return { code: 'given' };
    const { windowSlotsMax: slotsMax, windowBytesMax } = this.state.config;
    const { under, underBytes } = this.state;
    const isFull =
      under.size >= slotsMax || (under.size > 0 && underBytes + operation.length > windowBytesMax);
    if (isFull || this.isStopped || this.isLogFull()) return { code: 'full' };
    const proposal = this.under.begin(operation);
    this.tally.proposed(proposalLabel(proposal));
    this.input({ kind: 'Propose', proposals: [{ proposal, payload: operation }] });
    this.hurry();
    return { code: this.under.has(operation) ? 'given' : 'full' };
  }

  /** The next Tick may be as far away as for an idle replica. */
  private hurry(): void {
    this.stopTicking?.();
    this.stopTicking = this.parts.timers.after(busyTickMs, () => this.tick());
  }

  /** A replica that is away holds up purging. */
  private isLogFull(): boolean {
    const { log, config } = this.parts;
    return log.stats().bytes > fullFrom * config.bounds.logBytesMax;
  }

  applied(slot: Slot, durableSlot: Slot): void {
    this.input({ kind: 'Applied', slot, durableSlot });
  }

  restored(slot: Slot): void {
    this.isRestored = true;
    this.input({ kind: 'Restored', slot });
  }

  copyAwaited(): void {
    this.isRestored = false;
  }

  /** From the log as far as it has them for good, then from the core's memory. */
  async readChosen(from: Slot, to: Slot, bytesMax: number): Promise<Entry[]> {
    const durableTo = Math.min(to, this.state.durableTo) as Slot;
    if (from <= durableTo) return this.parts.log.read(from, durableTo, bytesMax);
    const entry = from <= this.state.commitPoint ? decidedEntry(this.state, from) : null;
    return entry === null ? [] : [entry];
  }

  stepBack(): void {
    // Nobody leads. A replica whose database is away goes on voting; its clients are told why it does not serve.
  }

  traceAt(): void {
    // What the core does is told to a trace file alone, from its first step on.
  }

  onControl(from: ReplicaId, message: ControlMessage): void {
    if (message.kind === 'JoinRequest') refuseToJoin(this.parts, message);
    if (message.kind !== 'Carried' || message.channel !== 'paxos') return;
    try {
      this.receive(from, decodePaxos(message.bytes, this.parts.config.group));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.parts.logger.warn({ from, err: error }, 'a message that is none was dropped');
    }
  }

  private receive(from: ReplicaId, message: PaxosMessage): void {
    const { kind } = message;
    if (this.log.isBusy && (kind === 'SlotPrepare' || kind === 'SlotAccept' || kind === 'LearnReply')) return;
    this.passed.heard(from, message);
    const held = 'slot' in message ? this.state.slots.get(message.slot) : undefined;
    const before = held?.open ?? null;
    this.input({ kind: 'Receive', from, message });
    if (before !== null && held !== undefined && held.open === null && !held.decided) this.tally.lostBallot();
  }

  standing(): Standing {
    const { commitPoint, lastSlot, config } = this.state;
    const reached = this.parts.transport.connected().length + 1 >= majority(config.members.length);
    const whyNot = this.isLogFull()
      ? 'the log has reached bounds.logBytesMax, since a replica is away: bring it back, or raise the bound'
      : 'a majority of the replicas cannot be reached from here';
    return {
      role: 'follower',
      ballot: ballotNone,
      leader: null,
      commitPoint,
      lastSlot,
      service: reached ? 'here' : 'nowhere',
      whyNot: reached && !this.isLogFull() ? null : whyNot,
    };
  }

  status(): ProtocolStatus {
    return { name: 'paxos', counts: this.tally.counts };
  }

  measures(): Pick<ReplicaMeasures, 'elections' | 'peers'> {
    return { elections: noElections, peers: [] };
  }

  // -------------------------------------------------------------------------------------------------- the core

  private input(input: WithoutTime): void {
    if (this.isStopped || this.listener === null) return;
    this.steps.push({ ...input, nowMs: this.parts.timers.nowMs() });
  }

  private step(input: PaxosInput): void {
    const { state, effects } = paxosStep(this.state, input);
    this.state = state;
    // Ahead of what others hear of it: a trace has no effect without its cause, whatever befalls this process in between.
    for (const effect of effects)
      if (effect.kind === 'trace') this.parts.events.protocol({ name: 'PaxosStep', step: effect.event });
    for (const effect of effects) this.carryOut(effect);
  }

  private fail(error: Error): void {
    this.stop();
    this.listener?.fatal(error);
  }

  private carryOut(effect: PaxosEffect): void {
    this.tally.note(effect);
    switch (effect.kind) {
      case 'persist':
        this.log.persist(effect.seq, effect.records);
        return;
      case 'send':
        this.send(effect.to, effect.message);
        return;
      case 'chosen':
        this.chosen(effect.entries);
        return;
      case 'refused':
        // Whoever gave it gives it again; an operation that comes into the log twice is executed once.
        this.under.over(proposalLabel(effect.proposal));
        return;
      case 'serveCatchUp':
        void this.serve(effect);
        return;
      case 'forgotten':
        this.forgotten(effect.peer, effect.purgedTo);
        return;
      case 'purge':
        this.listener?.purged();
        void this.log.purge(effect.upTo);
        return;
      case 'proposed':
      case 'trace':
        return;
      default:
        effect satisfies never;
    }
  }

  private send(to: ReplicaId, message: PaxosMessage): void {
    this.passed.sent(to, message);
    const bytes = encodePaxos(message);
    this.parts.transport.sendControl(replicaOf(to), { kind: 'Carried', channel: 'paxos', bytes });
  }

  private chosen(entries: readonly SlotEntry[]): void {
    for (const { entry } of entries) if (entry.kind === 'command') this.under.over(entryLabel(entry));
    this.listener?.chosen(entries);
    this.listener?.room();
  }

  private async serve({
    to,
    fromSlot,
    toSlot,
  }: {
    to: ReplicaId;
    fromSlot: Slot;
    toSlot: Slot;
  }): Promise<void> {
    try {
      const entries = await this.parts.log.read(fromSlot, toSlot, this.state.config.catchUpBytesMax);
      if (!this.isStopped) this.send(to, learnReply(this.state, fromSlot, entries));
    } catch (error) {
      if (!this.isStopped) this.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The core forgets earlier than the log, which frees whole segments: what is there still is executed from there. */
  private forgotten(peer: ReplicaId, purgedTo: Slot): void {
    const { log, logger } = this.parts;
    if (!this.isRestored || (peer === log.identity.member && log.stats().purgedTo <= this.state.done)) return;
    this.isRestored = false;
    logger.warn({ peer, purgedTo }, 'what the database needs next is in no log any more');
    this.listener?.copyNeeded();
  }
}
