/**
 * Runs the pure core: feeds it inputs one at a time and carries out its effects.
 *
 * Responsible for: order (an input never overtakes another), group commit of the log, catch-up replies, and turning a full disk
 * into waiting. Does not know about transactions or clients.
 *
 * Invariants: `Persisted` is given to the core only after the log store has said that the records are durable, in order. What waits
 * for the log is bounded: while it cannot be written, or falls far behind, messages that would add to it are dropped, as a lossy
 * network may.
 */
import {
  createState,
  entryAt,
  hastyDeadlineMs,
  isServing,
  leaseHeld,
  peerReports,
  snapshot,
  step,
  tracedLease,
  type PeerReport,
  type State,
} from '../../multipaxos/step.ts';
import type { CoreConfig, Effect, Input } from '../../multipaxos/types/effects.ts';
import type { Entry, SlotEntry } from '../../multipaxos/types/entries.ts';
import type { CoreLeaseEvent, TracedLease } from '../../multipaxos/types/lease-trace.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { LeaderNote, Message, Pace } from '../../multipaxos/types/messages.ts';
import type { Ballot, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import type { CoreSnapshot, TraceLevel, CoreTraceEvent } from '../../multipaxos/types/trace.ts';
import type { Timers } from '../../ports/clock.ts';
import type { LogStore } from '../../ports/log-store.ts';
import type { Transport } from '../../ports/transport.ts';
import { ChosenBytes } from './chosen-bytes.ts';
import { EagerQuorum } from './eager-quorum.ts';
import { RecordLog } from './record-log.ts';

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;
/** A vote that is not needed may come so late. Where the others do not answer, everybody is asked at once again. */
const eagerness = { delayMs: 10, silentMs: 50, waitingBytesMax: 256 * 1024 } as const;
/** Payload bytes on their way to the log beyond which no more is taken in. */
const waitingBytesMax = 64 * 1024 * 1024;

type InputWithoutTime = Input extends infer I ? (I extends Input ? Omit<I, 'nowMs'> : never) : never;

export interface CoreHostOptions {
  readonly config: CoreConfig;
  readonly log: LogStore;
  readonly transport: Transport;
  readonly timers: Timers;
  readonly random: () => number;
  readonly tickMs: number;
  /** How long to wait before writing again to a full log. */
  readonly logRetryMs: number;
  readonly catchUpBytesMax: number;
}

/** Who hears what the core says: the replica. Called within a step: what it gives the core in turn is taken up when that step is done. */
export interface CoreListener {
  chosen(entries: readonly SlotEntry[]): void;
  /** Answers to `propose`. */
  proposal(effect: EffectOf<'proposed' | 'refused'>): void;
  leadership(effect: EffectOf<'leadership'>): void;
  configuration(effect: EffectOf<'configuration'>): void;
  reconfigured(effect: EffectOf<'reconfigured'>): void;
  /** The answer to each `HandOver`. */
  handOver(effect: EffectOf<'handOver'>): void;
  /** A member told this leader what cannot be. */
  disbelieved(effect: EffectOf<'disbelieved'>): void;
  trace(event: CoreTraceEvent): void;
  traceLease(event: CoreLeaseEvent): void;
  /** A group of records has become durable, in so many milliseconds. */
  logIdle(tookMs: number): void;
  /** What goes with a heartbeat of this leader; null: nothing. */
  leaderNote(): LeaderNote | null;
  /** What came with a heartbeat of `ballot`'s leader. */
  leaderNoted(ballot: Ballot, note: LeaderNote): void;
  /** What goes with this replica's answers to heartbeats; null: nothing. */
  pace(): Pace | null;
  /** Another member has answered a heartbeat of this replica after so long, and what came with that; null: nothing. */
  answered(from: ReplicaId, tookMs: number, pace: Pace | null): void;
  /** `null` when the log can be written again. */
  logTrouble(error: Error | null): void;
  /** A peer that was asked for what this replica needs next has purged it, and all up to `purgedTo`. */
  purgedByPeer(peer: ReplicaId, purgedTo: Slot): void;
  /** The log lets go of slots at or below. */
  purged(from: Slot, upTo: Slot): void;
  /** A broken invariant or a failing log: the replica must stop rather than go on. */
  fatal(error: Error): void;
}

export class CoreHost {
  /** Since the start. */
  readonly chosenBytes = new ChosenBytes();
  private readonly options: CoreHostOptions;
  private readonly sending: EagerQuorum;
  private state: State;
  /** The newest that is known to be chosen. */
  private configuration: Configuration;
  private inputs: Input[] = [];
  private stepping = false;
  private readonly log: RecordLog;
  private stopped = false;
  /** Behind this slot the log began before what is being carried out. */
  private keptFrom = 0 as Slot;
  private listener: CoreListener | null = null;
  /** The newest heartbeat, and what was sent in its place. */
  private noted: { readonly plain: Message; readonly sent: Message } | null = null;
  private stopTicking: (() => void) | null = null;
  /** For when a Tick is wanted that is not the next one. */
  private hurry: { readonly atMs: number; readonly stop: () => void } | null = null;

  constructor(options: CoreHostOptions) {
    this.options = options;
    const { config, log, timers, random } = options;
    this.state = createState(config, log.recovered, timers.nowMs(), random());
    this.configuration = log.recovered.configuration;
    this.sending = new EagerQuorum({
      self: config.id,
      send: (to, message) => options.transport.send(to, message),
      timers,
      ...eagerness,
    });
    this.sending.configure(this.configuration);
    this.log = new RecordLog({
      log,
      timers,
      retryMs: options.logRetryMs,
      waitingMax: waitingBytesMax,
      sizeOf: payloadBytes,
      onDurable: (seq, tookMs) => {
        this.input({ kind: 'Persisted', seq });
        this.listener?.logIdle(tookMs);
      },
      onTrouble: (error) => this.listener?.logTrouble(error),
      onFailed: (error) => this.logFailed(error),
    });
  }

  /** From here on it votes. */
  start(listener: CoreListener): void {
    const { random, transport, timers, tickMs } = this.options;
    this.listener = listener;
    transport.onMessage((from, message) => this.receive(from, message));
    transport.onGone((replica) => this.input({ kind: 'PeerGone', replica }));
    this.stopTicking = timers.every(tickMs, () => this.input({ kind: 'Tick', random: random() }));
  }

  trace(level: TraceLevel): void {
    this.input({ kind: 'Trace', level });
  }

  snapshot(): CoreSnapshot {
    return snapshot(this.state);
  }

  get commitPoint(): Slot {
    return this.state.commitPoint;
  }

  leaseHeld(nowMs: number): boolean {
    return !this.stopped && leaseHeld(this.state, nowMs);
  }

  /** What this leader knows of the others; empty: it does not lead. */
  peers(): readonly PeerReport[] {
    return peerReports(this.state, this.options.timers.nowMs());
  }

  /** Null: this replica does not lead. */
  tracedLease(): TracedLease | null {
    return tracedLease(this.state);
  }

  /** Somebody wants to know of every action. */
  get isTold(): boolean {
    return this.state.trace === 'all';
  }

  /** The others hear of the commit point now, if nothing has told them yet. */
  announce(): void {
    this.input({ kind: 'Tick', random: this.options.random() });
  }

  entryAt(slot: Slot): Entry | undefined {
    return entryAt(this.state, slot);
  }

  /** Chosen entries: from the log as far as it has them, then from the core's memory. Of a slot whose write is under way the log may have an older vote, for something else. */
  async readChosen(from: Slot, to: Slot, bytesMax: number): Promise<Entry[]> {
    const { reported } = this.state;
    const durableTo = Math.min(to, reported) as Slot;
    const entries = from > durableTo ? [] : await this.options.log.read(from, durableTo, bytesMax);
    if (entries.length > 0) return entries;
    const entry = from <= this.commitPoint ? this.entryAt(from) : undefined;
    return entry === undefined ? [] : [entry];
  }

  /** True while a step is being taken: what is given to the core now waits for its end. */
  get isStepping(): boolean {
    return this.stepping;
  }

  /** What is given to the log now waits for the end of a write; then `logIdle` is told. */
  get isWriting(): boolean {
    return this.log.isWriting;
  }

  /** For how long what is given to the log has not become durable; null: nothing is. */
  get writingForMs(): number | null {
    return this.log.writingForMs;
  }

  input(input: InputWithoutTime): void {
    if (this.stopped || this.listener === null) return;
    this.inputs.push({ ...input, nowMs: this.options.timers.nowMs() });
    if (this.stepping) return;
    this.stepping = true;
    try {
      for (let next = this.inputs.shift(); next !== undefined; next = this.inputs.shift()) this.run(next);
    } catch (error) {
      this.stop();
      this.listener?.fatal(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.stepping = false;
    }
  }

  private receive(from: ReplicaId, received: Message): void {
    const message = this.withoutPace(from, this.withoutNote(from, received));
    const fillsLog = message.kind === 'Accept' || message.kind === 'CatchUpReply';
    if (fillsLog && this.log.isBusy) return;
    if (message.kind === 'Accepted') this.sending.accepted(from, message.lastSlot);
    this.input({ kind: 'Receive', from, message });
    // A leader that serves has all that it needs, whatever a peer says.
    if (message.kind !== 'CatchUpReply' || message.entries.length > 0 || isServing(this.state)) return;
    if (message.purgedTo > this.state.commitPoint) this.listener?.purgedByPeer(from, message.purgedTo);
  }

  private withoutNote(from: ReplicaId, message: Message): Message {
    if (message.kind !== 'Heartbeat' || message.note === undefined) return message;
    const { note, ...heartbeat } = message;
    if (message.ballot.replica === from) this.listener?.leaderNoted(message.ballot, note);
    return heartbeat;
  }

  private withoutPace(from: ReplicaId, message: Message): Message {
    if (message.kind !== 'HeartbeatAck') return message;
    const { pace, ...ack } = message;
    if (message.ballot.replica === this.options.config.id)
      this.listener?.answered(from, this.options.timers.nowMs() - message.sentAtMs, pace ?? null);
    return pace === undefined ? message : ack;
  }

  /** One object for all peers stays one: it is encoded once. */
  private withNote(message: Message): Message {
    if (message.kind === 'HeartbeatAck') {
      const pace = this.listener?.pace() ?? null;
      return pace === null ? message : { ...message, pace };
    }
    if (message.kind !== 'Heartbeat') return message;
    if (this.noted?.plain === message) return this.noted.sent;
    const note = this.listener?.leaderNote() ?? null;
    const sent = note === null ? message : { ...message, note };
    this.noted = { plain: message, sent };
    return sent;
  }

  stop(): void {
    this.stopped = true;
    this.stopTicking?.();
    this.hurry?.stop();
    this.sending.stop();
    this.log.stop();
  }

  private run(input: Input): void {
    this.keptFrom = this.state.purgedTo;
    const { state, effects } = step(this.state, input);
    this.state = state;
    for (const effect of effects) this.carryOut(effect);
    const atMs = hastyDeadlineMs(state);
    if (atMs !== (this.hurry?.atMs ?? null)) this.tickAt(atMs);
  }

  /** Null: the next regular Tick is soon enough. */
  private tickAt(atMs: number | null): void {
    this.hurry?.stop();
    this.hurry = null;
    if (atMs === null || this.stopped) return;
    const { timers, random } = this.options;
    const tick = (): void => {
      this.hurry = null;
      this.input({ kind: 'Tick', random: random() });
    };
    this.hurry = { atMs, stop: timers.after(Math.max(1, Math.ceil(atMs - timers.nowMs())), tick) };
  }

  private carryOut(effect: Effect): void {
    switch (effect.kind) {
      case 'persist':
        this.log.persist(effect.seq, effect.records);
        return;
      case 'send':
        this.sending.send(effect.to, this.withNote(effect.message));
        return;
      case 'chosen':
        this.chosenBytes.add(effect.entries);
        this.listener?.chosen(effect.entries);
        return;
      case 'proposed':
      case 'refused':
        this.listener?.proposal(effect);
        return;
      case 'serveCatchUp':
        void this.serveCatchUp(effect.to, effect.fromSlot, effect.toSlot);
        return;
      case 'leadership':
        this.sending.askEverybody();
        this.listener?.leadership(effect);
        return;
      case 'configuration':
        this.configuration = effect.configuration;
        this.sending.configure(effect.configuration);
        this.listener?.configuration(effect);
        return;
      case 'reconfigured':
        this.listener?.reconfigured(effect);
        return;
      case 'handOver':
        this.listener?.handOver(effect);
        return;
      case 'disbelieved':
        this.listener?.disbelieved(effect);
        return;
      case 'purge':
        this.listener?.purged(this.keptFrom, effect.upTo);
        this.keptFrom = effect.upTo;
        void this.log.purge(effect.upTo);
        return;
      case 'trace':
        this.listener?.trace(effect.event);
        return;
      case 'traceLease':
        this.listener?.traceLease(effect.event);
        return;
      default:
        effect satisfies never;
    }
  }

  private async serveCatchUp(to: ReplicaId, fromSlot: Slot, toSlot: Slot): Promise<void> {
    try {
      const { log, config, transport, catchUpBytesMax } = this.options;
      const entries = await log.read(fromSlot, toSlot, catchUpBytesMax);
      const { promised, commitPoint } = this.snapshot();
      transport.send(to, {
        kind: 'CatchUpReply',
        group: config.group,
        ballot: promised,
        firstSlot: fromSlot,
        entries,
        commitPoint,
        purgedTo: log.stats().purgedTo,
        configuration: this.configuration,
      });
    } catch (error) {
      this.logFailed(error);
    }
  }

  private logFailed(error: unknown): void {
    if (this.stopped) return;
    this.stop();
    this.listener?.fatal(error instanceof Error ? error : new Error(String(error)));
  }
}

function payloadBytes(records: readonly LogRecord[]): number {
  let bytes = 0;
  for (const record of records) {
    if ((record.kind === 'vote' || record.kind === 'chosen') && record.entry.kind === 'command')
      bytes += record.entry.payload.byteLength;
  }
  return bytes;
}
