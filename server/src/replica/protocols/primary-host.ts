/**
 * A primary and its copies for statements: one orders, the others follow, and clients are answered by levels.
 *
 * Responsible for: feeding the pure core (server/src/primary) one input at a time and carrying out its effects in their order; ticks; telling copies what is acknowledged, for the clients that came to them.
 * Invariants: `Persisted` is told when the records are durable; that the database needs a copy is marked durably ahead of the records behind it; members are fixed, and nobody is let in.
 */
import { noElections, type ReplicaMeasures } from '../../api/measures.ts';
import type { ProtocolStatus } from '../../api/status.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import { replicaOf, votersOf } from '../../multipaxos/configuration.ts';
import { proposalLabel } from '../../multipaxos/entry.ts';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { createState, isServing, type State, step } from '../../primary/step.ts';
import type { Effect, Input, Level, PrimaryConfig } from '../../primary/types/effects.ts';
import type { ControlMessage } from '../../ports/control.ts';
import type { CopyMark } from '../../ports/copy-mark.ts';
import type { Membership } from '../members/membership.ts';
import { fixedMembership, refuseToJoin } from './fixed-members.ts';
import { type AnswerOutcome, AwaitedAnswers } from './awaited-answers.ts';
import { FrameError } from './frames.ts';
import { OperationsUnderWay } from './operations-under-way.ts';
import { PassedMessages, shownOfPrimary } from './passed-messages.ts';
import { StepQueue } from './step-queue.ts';
import { RecordLog } from '../consensus/record-log.ts';
import { decodePrimary, encodePrimary, type PrimaryMessage } from './primary-codec.ts';
import type { Given, ProtocolHost, ProtocolListener, ProtocolParts, Standing } from './protocol-host.ts';

type WithoutTime<Each = Input> = Each extends Input ? Omit<Each, 'nowMs'> : never;
type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

type PrimarySettings = NonNullable<ReplicaConfig['primary']>;
/** What an operation asks for; undefined: nothing. */
type LevelAsked = (operation: Uint8Array) => Level | undefined;

const tickMs = 25;
const pauseMsMax = 10_000;
/** So much of the log is kept in memory and on disk for copies that lag: a copy of a database is not made yet. */
const keepSlots = 32_768;
const keepBytesMax = 256 * 1024 * 1024;
const batchBytesMax = 1024 * 1024;
/** Messages that only the owner of their epoch may send. */
const ofTheSender: ReadonlySet<PrimaryMessage['kind']> = new Set(['AskWord', 'Operations', 'Told']);

function primaryConfigOf({ config, log }: ProtocolParts, settings: PrimarySettings): PrimaryConfig {
  const { group, timings, bounds } = config;
  const { replication, failureTimeoutMs, acknowledgeMsMax, dropSilentCopies, promoteAloneRiskingSplitBrain } =
    settings;
  return {
    group,
    id: log.identity.member,
    replicas: [...votersOf(log.recovered.configuration)].sort(),
    replication,
    heartbeatMs: timings.heartbeatMs,
    failureTimeoutMs,
    retransmitMs: timings.retransmitMs,
    acknowledgeMsMax,
    pauseMsMax,
    dropSilentCopies,
    promoteAloneRiskingSplitBrain,
    windowSlotsMax: bounds.windowSlotsMax,
    windowBytesMax: bounds.windowBytesMax,
    batchBytesMax: Math.min(bounds.acceptBatchBytesMax, batchBytesMax),
    keepSlots,
    keepBytesMax,
    isTold: config.trace.file,
  };
}

export class PrimaryHost implements ProtocolHost {
  readonly membership: Membership;
  private readonly parts: ProtocolParts;
  private readonly mark: CopyMark;
  private readonly levelAsked: LevelAsked;
  private readonly log: RecordLog;
  private readonly answers: AwaitedAnswers;
  private readonly passed: PassedMessages<PrimaryMessage>;
  private state: State;
  private listener: ProtocolListener | null = null;
  private readonly steps = new StepQueue<Input>(
    (input) => this.step(input),
    (error) => this.fail(error),
  );
  private isStopped = false;
  private stopTicking: (() => void) | null = null;
  private readonly under: OperationsUnderWay;
  private lastRefusal: EffectOf<'refused'>['code'] | null = null;
  private readonly counts = { acknowledged: 0, unacknowledged: 0 };
  /** What this turn is to tell the copies. */
  private untold: Record<AnswerOutcome, Slot[]> = { acknowledged: [], unacknowledged: [] };
  private tellingIsNear = false;

  constructor(parts: ProtocolParts, settings: PrimarySettings, mark: CopyMark, levelAsked: LevelAsked) {
    this.parts = parts;
    this.mark = mark;
    this.levelAsked = levelAsked;
    const { log, timers, random, events } = parts;
    const { member } = log.identity;
    this.under = new OperationsUnderWay(`${member}.${events.run}`);
    this.passed = new PassedMessages(events, shownOfPrimary);
    this.state = createState(primaryConfigOf(parts, settings), log.recovered, timers.nowMs(), random());
    this.answers = new AwaitedAnswers(2 * this.state.config.acknowledgeMsMax);
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
    this.membership = fixedMembership(parts, () => this.purgedTo);
  }

  /** Everything at or below may be executed: it is durable here, and confirmed by the primary. */
  get commitPoint(): Slot {
    return this.state.pushedTo;
  }

  get settledTo(): Slot {
    return this.state.settled;
  }

  get purgedTo(): Slot {
    return Math.max(0, this.state.base - 1) as Slot;
  }

  start(listener: ProtocolListener): void {
    this.listener = listener;
    this.tick();
  }

  private tick(): void {
    if (this.isStopped) return;
    const { timers, random } = this.parts;
    this.input({ kind: 'Tick', random: random() });
    this.answers.look(timers.nowMs());
    this.stopTicking = timers.after(tickMs, () => this.tick());
  }

  stop(): void {
    this.isStopped = true;
    this.stopTicking?.();
    this.log.stop();
    this.answers.giveUpAll();
  }

  give(operation: Uint8Array): Given {
    if (this.under.has(operation)) return { code: 'given' };
    if (this.state.leadership === null) return { code: 'elsewhere', to: this.heardPrimary() };
    const proposal = this.under.begin(operation);
    this.lastRefusal = null;
    const level = this.levelAsked(operation);
    const asked = level === undefined ? {} : { level };
    this.input({ kind: 'Propose', proposals: [{ proposal, payload: operation, ...asked }] });
    if (this.lastRefusal === null && !this.isStopped) return { code: 'given' };
    return this.lastRefusal === 'windowFull' ? { code: 'full' } : { code: 'elsewhere', to: null };
  }

  applied(slot: Slot, durableSlot: Slot): void {
    this.input({ kind: 'Applied', slot, durableSlot });
  }

  /** A database that has executed nothing is the beginning of every log, and so is what is settled. */
  restored(slot: Slot, isCopy = false): void {
    const isBeginning = slot === 0 || isCopy;
    const isMarked = !isBeginning && this.mark.isSet;
    if (!isMarked) this.mark.clear();
    this.input({ kind: 'Restored', slot, isMarked, isSettled: isCopy });
    if (isMarked) this.tellCopyNeeded();
  }

  copyAwaited(): void {
    // The core goes on: what it is given again is executed anew.
  }

  readChosen(from: Slot, to: Slot, bytesMax: number): Promise<Entry[]> {
    const { log, pushedTo, base } = this.state;
    const upTo = Math.min(to, pushedTo);
    if (!log.has(from)) {
      return this.parts.log.read(from, Math.min(upTo, Math.max(base, 1)) as Slot, bytesMax);
    }
    const entries: Entry[] = [];
    let bytes = 0;
    for (let slot: number = from; slot <= upTo; slot += 1) {
      const held = log.get(slot as Slot);
      if (held === undefined || (entries.length > 0 && bytes + held.bytes > bytesMax)) break;
      bytes += held.bytes;
      entries.push(held.entry);
    }
    return Promise.resolve(entries);
  }

  /** Told when the client may hear what this replica answers, or that nobody knows. */
  whenAnswerable(slot: Slot, settle: (outcome: AnswerOutcome) => void): void {
    const held = this.state.log.get(slot);
    if (held === undefined || this.state.needsCopy || this.isStopped) return settle('unacknowledged');
    this.answers.when(slot, held.ballot, this.parts.timers.nowMs(), settle);
  }

  stepBack(): void {
    this.input({ kind: 'StepDown' });
  }

  traceAt(): void {
    // What the core does is told to a trace file alone, from its first step on.
  }

  onControl(from: ReplicaId, message: ControlMessage): void {
    if (message.kind === 'JoinRequest') refuseToJoin(this.parts, message);
    if (message.kind !== 'Carried' || message.channel !== 'primary') return;
    try {
      this.receive(from, decodePrimary(message.bytes, this.parts.config.group));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.parts.logger.warn({ from, err: error }, 'a message that is none was dropped');
    }
  }

  private receive(from: ReplicaId, message: PrimaryMessage): void {
    if (ofTheSender.has(message.kind) && message.epoch.replica !== from)
      throw new FrameError(`an epoch of ${message.epoch.replica}`);
    this.passed.heard(from, message);
    if (message.kind !== 'Told') {
      // As a lossy network would: it comes again.
      if (message.kind === 'Operations' && message.entries.length > 0 && this.log.isBusy) return;
      return this.input({ kind: 'Receive', from, message });
    }
    for (const slot of message.acknowledged) this.answers.tell(slot, message.epoch, 'acknowledged');
    for (const slot of message.unacknowledged) this.answers.tell(slot, message.epoch, 'unacknowledged');
  }

  /** Whom it follows, or is; null: that one is silent. */
  private heardPrimary(): ReplicaId | null {
    const { primary, config, heardAtMs } = this.state;
    if (primary === null || primary === config.id) return primary;
    return this.parts.timers.nowMs() - heardAtMs < config.failureTimeoutMs ? primary : null;
  }

  standing(): Standing {
    const { role, promised, pushedTo, lastSlot, config } = this.state;
    const leader = this.heardPrimary();
    const isPrimary = role === 'primary';
    const follows = config.replication === 'none' ? 'nowhere' : 'at';
    const elsewhere = leader === null ? 'nowhere' : follows;
    return {
      role: isPrimary ? 'leader' : 'follower',
      ballot: promised,
      leader,
      commitPoint: pushedTo,
      lastSlot,
      service: isPrimary ? (isServing(this.state) ? 'here' : 'nowhere') : elsewhere,
      whyNot: this.whyNot(leader),
    };
  }

  private whyNot(leader: ReplicaId | null): string | null {
    const { role, config } = this.state;
    if (role === 'primary') {
      if (isServing(this.state)) return null;
      return 'too few of the other replicas are heard, and another may be primary: it answers nobody until they are back';
    }
    return whyNoCopyServes(config, leader);
  }

  status(): ProtocolStatus {
    const { role, config, needsCopy } = this.state;
    return { name: 'primary', role, replication: config.replication, needsCopy, counts: { ...this.counts } };
  }

  measures(): Pick<ReplicaMeasures, 'elections' | 'peers'> {
    return { elections: noElections, peers: [] };
  }

  // -------------------------------------------------------------------------------------------------- the core

  private input(input: WithoutTime): void {
    if (this.isStopped || this.listener === null) return;
    this.steps.push({ ...input, nowMs: this.parts.timers.nowMs() });
  }

  private step(input: Input): void {
    const { state, effects } = step(this.state, input);
    this.state = state;
    // Ahead of what others hear of it: a trace has no effect without its cause, whatever befalls this process in between.
    for (const effect of effects)
      if (effect.kind === 'trace') this.parts.events.protocol({ name: 'PrimaryStep', step: effect.event });
    for (const effect of effects) this.carryOut(effect);
  }

  private fail(error: Error): void {
    this.stop();
    this.listener?.fatal(error);
  }

  private carryOut(effect: Effect): void {
    const { logger } = this.parts;
    switch (effect.kind) {
      case 'persist':
        return this.log.persist(effect.seq, effect.records);
      case 'send':
        return this.send(effect.to, effect.message);
      case 'chosen':
        this.listener?.chosen(effect.entries);
        this.listener?.room();
        return;
      case 'refused':
        this.lastRefusal = effect.code;
        return this.under.over(proposalLabel(effect.proposal));
      case 'acknowledged':
      case 'unacknowledged':
        this.under.over(proposalLabel(effect.proposal));
        return this.answered(effect.slot, effect.kind);
      case 'leadership': {
        const { role, leader, serving, ballot } = effect;
        logger.info({ role, leader, serving, epoch: ballot }, 'primary and copies');
        return this.listener?.proposerChanged();
      }
      case 'copyNeeded':
        this.mark.set();
        this.answers.giveUpAll();
        return this.tellCopyNeeded();
      case 'transferNeeded':
        logger.warn(
          { copy: effect.to },
          'a copy needs another database: it goes on from one that it or another replica keeps, or executes its log again',
        );
        return;
      case 'waitsFor':
        logger.info({ copy: effect.copy, isWaitedFor: effect.isWaitedFor }, 'copies that are waited for');
        return;
      case 'purge':
        this.listener?.purged();
        void this.log.purge(effect.upTo);
        return;
      case 'proposed':
      case 'paused':
      case 'resumed':
      case 'trace':
        return;
      default:
        effect satisfies never;
    }
  }

  private send(to: ReplicaId, message: PrimaryMessage): void {
    this.passed.sent(to, message);
    const bytes = encodePrimary(message);
    this.parts.transport.sendControl(replicaOf(to), { kind: 'Carried', channel: 'primary', bytes });
  }

  private answered(slot: Slot, outcome: AnswerOutcome): void {
    const epoch = this.state.log.get(slot)?.ballot;
    if (epoch === undefined) return;
    this.counts[outcome] += 1;
    this.answers.tell(slot, epoch, outcome);
    // Of an earlier epoch of its own: nobody knows, and copies find that out by themselves.
    if (epoch.replica !== this.state.config.id) return;
    this.untold[outcome].push(slot);
    if (this.tellingIsNear) return;
    this.tellingIsNear = true;
    queueMicrotask(() => {
      this.tellingIsNear = false;
      const told = { kind: 'Told', group: this.state.config.group, epoch, ...this.untold } as const;
      this.untold = { acknowledged: [], unacknowledged: [] };
      const { replicas, id, replication } = this.state.config;
      if (this.isStopped || replication === 'none') return;
      for (const to of replicas) if (to !== id) this.send(to, told);
    });
  }

  private tellCopyNeeded(): void {
    this.parts.logger.warn('the database has executed what the log has not');
    this.parts.timers.soon(() => this.listener?.copyNeeded());
  }
}

/** Of a replica that is not the primary; null: it gives what its clients want to the one that it hears. */
export function whyNoCopyServes(
  { id, replicas, replication }: Pick<PrimaryConfig, 'id' | 'replicas' | 'replication'>,
  heard: ReplicaId | null,
): string | null {
  const [first] = replicas;
  // Nothing is sent to anybody, so the first of the list is heard by none, and leads all the same.
  if (replication === 'none' && first !== undefined && first !== id)
    return `the group does not replicate (primary.replication: none): connect to ${replicaOf(first)}`;
  if (heard !== null) return null;
  return replicas.length === 2
    ? 'no primary is heard, and of two replicas none takes over alone: bring the other one back'
    : 'no primary is heard';
}
