/**
 * One replica of a behaviour: the real payload with the parts of the server that clients meet, over a PostgreSQL and a core that do what the behaviour says.
 *
 * Responsible for: the ports around the payload (PayloadHost above all) and the lives of its process. What happens when is payload-driver.ts.
 */
import { pino } from 'pino';
import type { ApplyTraceEvent } from '../../../../server/src/api/events.ts';
import type { Entry, SlotEntry } from '../../../../server/src/multipaxos/types/entries.ts';
import type { Ballot, EntryLabel, ReplicaId, Slot } from '../../../../server/src/multipaxos/types/names.ts';
import type { PayloadHost, ProposeResult } from '../../../../server/src/payload/payload.ts';
import { ModelDirectory } from '../../../../server/src/payload/wal/testing/model-directory.ts';
import { WalPayload } from '../../../../server/src/payload/wal/wal-payload.ts';
import type { Timers } from '../../../../server/src/ports/clock.ts';
import type { DirectoryState } from '../../../../server/src/ports/database-directory.ts';
import { Random } from '../../../../server/src/ports/testing/random.ts';
import { ProcessTime, type SimulatedTime } from '../../../../server/src/ports/testing/simulated-time.ts';
import { RecoveryTracker } from '../../../../server/src/replica/database/recovery-progress.ts';
import { AnswerGate } from '../../../../server/src/replica/serving/answer-gate.ts';
import { Outcomes } from '../../../../server/src/replica/serving/outcomes.ts';
import { Successions } from '../../../../server/src/replica/serving/successions.ts';
import { AwaitedCopies } from './awaited-copies.ts';
import { SteppedPostgres } from './stepped-postgres.ts';
import type { WalBook } from './wal-book.ts';

/** The log that all share, and what the core does with proposals. */
export interface ReplayLog {
  readonly entry: (slot: number) => Entry;
  readonly purged: () => number;
  /** Null: it has no room for it. */
  readonly propose: (leadership: number, payload: Uint8Array) => EntryLabel | null;
  readonly ballot: (leadership: number) => Ballot;
  /** The leadership that holds the lease. */
  readonly newest: () => number;
  readonly start: (leadership: number) => number;
}

const logger = pino({ level: 'silent' });
/** Nothing is saved, and nothing given up, because of time; but for `save`. */
/** The replay looks at sessions as one: whoever is served is served by the leadership that is. */
const GENERATION = 1;
const saveMs = 1e9;
const never = 1e13;
const timings = {
  saveMs,
  askMs: 10,
  askLeadingMs: 5,
  hangMs: never,
  pingMs: 25,
  standstillMs: never,
  patienceMs: never,
  promotionMs: never,
  retryMinMs: 1,
  retryMaxMs: 1,
} as const;

export class PayloadReplica {
  readonly member: ReplicaId;
  readonly postgres: SteppedPostgres;
  payload: WalPayload | null = null;
  gate: AnswerGate | null = null;
  outcomes: Outcomes | null = null;
  leads = 0;
  isOpen = false;
  hasProposed = false;
  /** Up to where its core knows the log to be chosen. */
  known = 0;
  readonly copying: AwaitedCopies;
  readonly events: ApplyTraceEvent[] = [];
  readonly troubles: string[] = [];
  private readonly time: SimulatedTime;
  private readonly log: ReplayLog;
  private readonly random = new Random(1);
  private process: ProcessTime;
  private lateMs = 0;

  constructor(
    member: ReplicaId,
    parts: { readonly time: SimulatedTime; readonly book: WalBook; readonly log: ReplayLog },
  ) {
    this.member = member;
    this.time = parts.time;
    this.log = parts.log;
    this.postgres = new SteppedPostgres(parts.book);
    this.copying = new AwaitedCopies(this.postgres);
    this.process = new ProcessTime(this.time);
  }

  get directory(): DirectoryState {
    return this.postgres.disk.state!;
  }

  get stage(): string {
    if (this.leads === 0) return 'none';
    if (this.isOpen) return 'open';
    if (this.payload?.position?.leadership.round === this.leads) return 'begun';
    return this.hasProposed ? 'proposed' : 'elected';
  }

  // ------------------------------------------------------------------------------------------- what befalls it

  start(known: number): void {
    this.process = new ProcessTime(this.time);
    this.known = known;
    const { process } = this;
    const timers: Timers = {
      nowMs: () => process.nowMs() + this.lateMs,
      after: (ms, work) => process.after(ms, work),
      every: (ms, work) => process.every(ms, work),
      soon: (work) => process.soon(work),
    };
    const { disk } = this.postgres;
    const server = this.postgres.server();
    const directory = new ModelDirectory(disk, timers, this.random);
    const successions = new Successions();
    const tracker = new RecoveryTracker({ nowMs: () => timers.nowMs(), logger, onEvent: () => undefined });
    const payload: WalPayload = new WalPayload({
      host: this.host(process, timers),
      server,
      directory,
      logger,
      timers,
      timings,
      readers: { wanted: null, reached: () => undefined, letIn: () => undefined },
      entryBytesMax: 1_000_000,
      shipQueueBytesMax: 1_000_000,
      log: { read: (from, to) => Promise.resolve(this.read(from, to)) },
      ringBytesMax: 1_000_000,
      prepare: () => Promise.resolve(),
      missing: () => ({ kind: 'lost', loss: { cause: 'databaseLost', reason: 'there is none' } }),
      logReaches: (slot) => slot >= this.log.purged(),
      replace: (loss, ended) => this.copying.replace({ directory, tracker, timers, logger }, loss, ended),
      onAgreed: () => undefined,
      onStep: () => undefined,
      onUp: () => undefined,
      // The specification has no database that is given up because its starts fail: they are not counted here.
      onDown: () => payload.answered(),
      onMayLead: () => undefined,
      onReplayPaused: () => undefined,
      onVerify: () => undefined,
      onFolding: (base) => {
        successions.clear();
        if (base.timeline !== 0) successions.add(base, false);
      },
      onLeadership: (position, resumes) => successions.add(position, resumes),
    });
    this.payload = payload;
    this.gate = new AnswerGate({
      leaseHeld: () => this.leads !== 0 && this.leads === this.log.newest(),
      server,
      barrier: () => payload.barrier(),
      position: () => payload.position,
      onEvent: () => undefined,
      told: { leaves: () => undefined, refused: () => undefined },
      timers,
      leasePollMs: 1,
    });
    this.outcomes = new Outcomes({
      successions,
      server,
      replayed: () => payload.replayed,
      serves: () => this.isOpen,
      servedUnder: () => (this.isOpen && this.leads !== 0 ? this.log.ballot(this.leads) : null),
      barrier: () => this.gate?.afterNow() ?? Promise.reject(new Error('its process is gone')),
      // A behaviour has a standby tell only what its leader shows.
      shownByLeader: () => Promise.resolve(true),
      isStandby: () => payload.isStandby,
      onEvent: () => undefined,
      timers,
      pollMs: 1,
    });
    payload.start();
  }

  /** Its process is gone: what it waited for comes to nobody. */
  die(): void {
    this.process.die();
    this.postgres.forget();
    this.payload = null;
    this.gate = null;
    this.outcomes = null;
    this.leads = 0;
    this.isOpen = false;
    this.copying.forget();
  }

  elected(leadership: number): void {
    this.leads = leadership;
    this.hasProposed = false;
    this.lead();
  }

  deposed(): void {
    this.leads = 0;
    this.payload?.follow();
  }

  /** One more slot is chosen, as far as it knows. */
  hear(slot: number): void {
    if (slot !== this.known + 1) throw new Error(`slot ${slot} comes after ${this.known}`);
    this.known = slot;
    const entries: SlotEntry[] = [{ slot: slot as Slot, entry: this.log.entry(slot) }];
    this.payload?.chosen(entries);
  }

  /** It is time to note how far its database is. */
  save(): void {
    this.lateMs += saveMs;
    this.payload?.context.signal.notify();
  }

  // ------------------------------------------------------------------------------------------- what it asks

  private read(from: number, to: number): Entry[] {
    const entries: Entry[] = [];
    if (from <= this.log.purged()) return entries;
    for (let slot = from; slot <= to; slot++) entries.push(this.log.entry(slot));
    return entries;
  }

  /** When everything that it found is in its database. */
  private lead(): void {
    const { payload, leads } = this;
    if (leads !== 0 && payload !== null && payload.pointer >= this.log.start(leads))
      payload.lead(this.log.ballot(leads));
  }

  private host(process: ProcessTime, timers: Timers): PayloadHost {
    const ifAlive = (work: () => void): void => {
      if (!process.dead) work();
    };
    return {
      member: this.member,
      commitPoint: () => this.known as Slot,
      isAwaited: () => this.leads !== 0 && this.payload?.context.wishes.leading === null,
      isWriting: () => false,
      groupIntervalMs: () => null,
      configuration: () => ({ version: 0, slot: 0 as Slot, members: [] }),
      propose: (payload) => this.propose(payload),
      applied: () => ifAlive(() => timers.soon(() => this.lead())),
      restored: () => undefined,
      copyAwaited: () => undefined,
      leadershipKnown: () => undefined,
      stepDown: () => {
        this.leads = 0;
        timers.soon(() => this.payload?.follow());
      },
      opening: () => undefined,
      ready: () =>
        ifAlive(() => {
          this.isOpen = true;
          this.gate?.renew();
          this.letAnswersGo();
        }),
      unready: () =>
        ifAlive(() => {
          this.isOpen = false;
        }),
      event: (event) =>
        ifAlive(() => {
          this.events.push(event);
          if (event.name === 'ProposeLeadership') this.hasProposed = true;
        }),
      isTraced: true,
      fatal: (error) => this.troubles.push(error.message),
    };
  }

  mayAnswer(): boolean {
    return this.gate?.isOpen(GENERATION) === true;
  }

  /** Somebody waits for an answer: a barrier is made if it takes one. */
  letAnswersGo(): void {
    const { gate } = this;
    void gate?.pass(GENERATION, () => !this.isOpen || this.gate !== gate);
  }

  private propose(payload: Uint8Array): ProposeResult {
    if (this.leads === 0) return { code: 'notLeader' };
    const label = this.log.propose(this.leads, payload);
    return label === null ? { code: 'windowFull' } : { code: 'proposed', label };
  }
}
