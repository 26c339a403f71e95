/**
 * WAL as what travels: the payload of ADR 14.
 *
 * Responsible for: the life of the replica's PostgreSQL, one phase after another (life/), and for handing each phase what the log, the core and PostgreSQL say. The rules are in the phases; what a range is worth is
 * wal-history.ts.
 *
 *   inspect ──> standby ──(this replica leads)──> primary ──(leads no more, PostgreSQL ended)──> written
 *      │           ^                                 ^                                             │
 *      │           └──────(all of it is chosen)──────┼─────────────────────────────────────────────┤
 *      │                                             └──(this replica leads again: resumes)────────┤
 *      └──> lost ──(a copy has come)──> inspect      (others went another way) <────────────────────┘
 *
 * Invariants: one phase at a time; a phase that fails is followed by another look at the directory, ever more slowly; what is lost is never started again.
 */
import { sameBallot } from '../../multipaxos/ballot.ts';
import { entryLabel } from '../../multipaxos/entry.ts';
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { Ballot, Slot } from '../../multipaxos/types/names.ts';
import type { DirectoryRole, DirectoryState, Loss } from '../../ports/database-directory.ts';
import type { PrimaryDatabase } from '../../ports/database-server.ts';
import type { Payload } from '../payload.ts';
import { pause } from '../pause.ts';
import { ChosenWal, type ChosenWalOptions } from './chosen-wal.ts';
import { LifeContext, type LifeOptions, type Next } from './life/context.ts';
import { DatabaseFailures } from './life/database-failures.ts';
import { inspect } from './life/inspect-phase.ts';
import { Stages } from './life/stages.ts';
import { beStandby } from './life/standby-phase.ts';
import { settleWritten } from './life/written-phase.ts';
import { lsnNone, type Lsn } from '../../wal/lsn.ts';
import { encodeVerify } from './wal-entry.ts';
import type { WalEffect } from './wal-history.ts';
import type { WalPosition } from '../../wal/position.ts';

export interface WalPayloadOptions extends Omit<LifeOptions, 'openWal'> {
  readonly log: ChosenWalOptions['log'];
  readonly ringBytesMax: number;
  /** A comparison of the replicas' data is due at this position: nothing beyond it is fed or released until `endVerify`. */
  readonly onVerify: (check: string, position: WalPosition) => void;
  /** Folding begins anew, above this position. */
  readonly onFolding: (base: WalPosition) => void;
  /** A leadership has begun, this replica's or another's. */
  readonly onLeadership: (position: WalPosition, resumes: boolean) => void;
}

const presumedPauseMs = 30_000;

export class WalPayload implements Payload {
  readonly context: LifeContext;
  private readonly options: WalPayloadOptions;
  private work: Promise<void> = Promise.resolve();
  private ranges = 0;
  private readonly failures = new DatabaseFailures();
  private lastVerify: { readonly check: string; readonly slot: Slot } | null = null;

  constructor(options: WalPayloadOptions) {
    this.options = options;
    this.context = new LifeContext({ ...options, openWal: (state) => this.openWal(state.position) });
    options.server.onExit((reason, damage) => {
      options.logger.warn({ reason, damage }, 'PostgreSQL has ended by itself; its own log says more');
      if (damage === null) this.suspect(reason);
      else this.lose({ cause: 'databaseLost', reason: damage });
    });
  }

  private openWal(base: WalPosition): ChosenWal {
    this.options.onFolding(base);
    const { log, host, directory, ringBytesMax, timers } = this.options;
    const wal: ChosenWal = new ChosenWal({
      base,
      log,
      ringBytesMax,
      timers,
      commitPoint: () => host.commitPoint(),
      readLocal: (from, timeline, bytesMax) => directory.readWal(from, timeline, bytesMax),
      onEffect: (effect, slotEntry, position) => {
        if (this.context.wal === wal || this.context.wal === null) this.onEffect(effect, slotEntry, position);
      },
      onMissing: (reason) => this.lose({ cause: 'logPurged', reason }),
      onFailed: (error) => host.fatal(error),
    });
    return wal;
  }

  private onEffect(effect: WalEffect, slotEntry: SlotEntry, position: WalPosition): void {
    const { context } = this;
    const { slot, entry } = slotEntry;
    const label = entryLabel(entry);
    switch (effect.kind) {
      case 'range': {
        this.ranges += 1;
        context.feed?.more();
        const { leadership, timeline, start } = effect.range;
        // A primary that leads no more is told nothing, even while it is being stopped: what is chosen from now on may be of another timeline.
        if (context.shipper !== null && context.leads(leadership)) context.shipper.chosen(position.end);
        else context.foldEvent({ name: 'Feed', slot, label, leadership, timeline, start, end: position.end });
        break;
      }
      case 'leadership': {
        const { leadership, timeline, fork, resumes } = effect.entry;
        const nextXid = String(effect.entry.nextXid);
        context.standby?.fork(fork);
        if (context.leads(leadership)) {
          context.feed?.shut();
          context.holdFoldEvents();
        } else context.feed?.more();
        const role = context.directoryRole?.kind ?? 'copying';
        context.foldEvent({
          name: 'BeginLeadership',
          slot,
          label,
          leadership,
          timeline,
          fork,
          nextXid,
          resumes,
          role,
        });
        this.options.onLeadership(position, resumes);
        break;
      }
      case 'verify':
        context.held = position.end;
        context.shipper?.hold(position.end);
        context.foldEvent({ name: 'Skip', slot, label, why: 'verify' });
        this.lastVerify = { check: effect.entry.check, slot };
        this.options.onVerify(effect.entry.check, position);
        break;
      case 'nobodys':
        context.foldEvent({ name: 'Skip', slot, label, why: effect.why });
        break;
      case 'nothing':
        break;
      default:
        effect satisfies never;
    }
    // Small amounts of WAL wait for more before they are fed, but not where somebody waits for them.
    if (slot === this.options.readers.wanted) context.feed?.ask();
    if (effect.kind === 'range') context.signal.stir();
    else context.signal.notify();
  }

  /** What was held for a comparison goes on. */
  endVerify(): void {
    const { context } = this;
    context.held = null;
    context.feed?.more();
    const { position } = context;
    if (position !== null && context.leads(position.leadership)) context.shipper?.letGo(position.end);
    context.signal.notify();
  }

  /** The name of a comparison, into the log. Resolves with its slot once that is folded here; null if this replica does not lead any more. */
  async proposeVerify(check: string): Promise<Slot | null> {
    const { context } = this;
    const { leading } = context.wishes;
    if (leading === null || context.shipper === null) return null;
    const payload = encodeVerify(leading, check);
    for (;;) {
      if (!context.leads(leading)) return null;
      if (this.options.host.propose(payload).code === 'proposed') break;
      await context.signal.wait(10);
    }
    while (context.leads(leading)) {
      if (this.lastVerify?.check === check) return this.lastVerify.slot;
      await context.signal.wait();
    }
    return null;
  }

  /** Everything up to the position is in the database, and nothing else is visible. */
  isAt({ slot, end }: WalPosition): boolean {
    const { context } = this;
    const { shipper, standby } = context;
    if (shipper !== null) return shipper.releasedTo >= end;
    return standby !== null && standby.appliedSlot >= slot;
  }

  /** A commit of Barista's own: resolves when everything that was visible at the call is chosen. @throws Error if there is no primary, or not long enough */
  async barrier(): Promise<void> {
    const { barriers } = this.context;
    if (barriers === null) throw new Error('PostgreSQL is no primary here');
    await barriers.pass();
  }

  /** What the directory holds, durably. @throws Error if there is nothing to rely on */
  durableState(): DirectoryState {
    const { durableState } = this.context;
    if (durableState === null) throw new Error('there is no database');
    return durableState;
  }

  /** True once the chosen WAL has come to `lsn`; false as soon as it is certain that it never will under the present leadership, or PostgreSQL has become something else. */
  async awaitChosen(lsn: Lsn, signal: AbortSignal): Promise<boolean> {
    const { context } = this;
    const { shipper, standby } = context;
    while (!signal.aborted && context.shipper === shipper && context.standby === standby) {
      if (this.chosenEnd >= lsn) return true;
      await context.signal.wait();
    }
    return false;
  }

  /** A primary's WAL is not proposed, until it is to be again: whoever leads next has what was proposed before. */
  rest(isResting: boolean): void {
    this.context.shipper?.rest(isResting);
  }

  get primary(): PrimaryDatabase | null {
    return this.context.primary;
  }

  get isStandby(): boolean {
    return this.context.standby !== null;
  }

  get wal(): ChosenWal | null {
    return this.context.wal;
  }

  /** What the log goes on to be folded into. */
  get needsLog(): boolean {
    return this.context.wal !== null;
  }

  get position(): WalPosition | null {
    return this.context.position;
  }

  get directoryRole(): DirectoryRole | null {
    return this.context.directoryRole;
  }

  get chosenEnd(): Lsn {
    return this.context.position?.end ?? lsnNone;
  }

  /** Of the chosen WAL, in this replica's own PostgreSQL. */
  get flushed(): Lsn {
    return this.context.standby?.flushed ?? this.chosenEnd;
  }

  get replayed(): Lsn {
    return this.context.standby?.replayed ?? (this.context.primary === null ? lsnNone : this.chosenEnd);
  }

  get unchosenBytes(): number {
    return this.context.shipper?.unchosenBytes ?? 0;
  }

  /** Ranges that were folded in since the start. */
  get appliedEntries(): number {
    return this.ranges;
  }

  start(): void {
    this.work = this.run();
  }

  chosen(entries: readonly SlotEntry[]): void {
    this.context.wal?.push(entries);
  }

  room(): void {
    this.context.shipper?.ship();
  }

  lead(ballot: Ballot): void {
    const { wishes, signal } = this.context;
    if (wishes.leading !== null && sameBallot(wishes.leading, ballot)) return;
    wishes.leading = ballot;
    this.context.stages = new Stages(this.options.timers);
    signal.notify();
  }

  follow(): void {
    const { wishes, signal } = this.context;
    wishes.leading = null;
    signal.notify();
  }

  purged(): void {
    const { wal, durableState } = this.context;
    if (durableState !== null) wal?.purged(durableState.position);
  }

  get pointer(): Slot {
    return this.context.pointer;
  }

  get durablePointer(): Slot {
    return this.context.durablePointer;
  }

  /** What readers want has changed. */
  hurry(): void {
    this.context.signal.notify();
  }

  /** Everything up to it is in the standby; null: there is none. */
  get standbySlot(): Slot | null {
    return this.context.standby?.appliedSlot ?? null;
  }

  /** PostgreSQL has ended, or is to be taken for ended. */
  suspect(reason: string): void {
    const { wishes, signal } = this.context;
    wishes.ended ??= reason;
    signal.notify();
  }

  /** What is here must be replaced by a copy of another replica's. */
  lose(loss: Loss): void {
    const { wishes, signal } = this.context;
    wishes.loss ??= loss;
    signal.notify();
  }

  private async run(): Promise<void> {
    const { context, options } = this;
    const { timers } = options;
    const { retryMinMs, retryMaxMs } = options.timings;
    let waitMs = retryMinMs;
    for (let next: Next = { kind: 'inspect' }; next.kind !== 'stopped'; ) {
      const begunAtMs = timers.nowMs();
      try {
        next = await this.phase(next);
      } catch (error) {
        const failed = this.failed(error);
        const { loss } = context.wishes;
        next = loss === null || failed.kind === 'lost' ? failed : { kind: 'lost', loss };
        await options.server.stop('immediate');
      }
      if (context.wishes.stopping) break;
      // Whatever lived for a while begins anew at once.
      if (timers.nowMs() - begunAtMs > retryMaxMs) waitMs = retryMinMs;
      if (next.kind !== 'inspect') continue;
      options.onStep(null);
      await pause(timers, waitMs, context.end.signal);
      waitMs = Math.min(2 * waitMs, retryMaxMs);
    }
    await options.server.stop('fast');
  }

  private phase(next: Next): Promise<Next> | Next {
    const { context } = this;
    switch (next.kind) {
      case 'inspect':
        context.wishes.ended = null;
        return inspect(context);
      case 'standby':
        return beStandby(context, next.state);
      case 'written':
        context.wishes.ended = null;
        return settleWritten(context, next.state);
      case 'lost':
        return this.replace(next.loss);
      case 'stopped':
        return next;
      default:
        return next satisfies never;
    }
  }

  private async replace(loss: Loss): Promise<Next> {
    const { context, options } = this;
    const { server, host, onDown, replace, timers } = options;
    const { vain } = this.failures;
    onDown(vain === null ? loss.reason : `${loss.reason}; ${vain}`);
    host.stepDown();
    await server.stop('immediate');
    context.drop();
    // What may be whole is not left behind by its log.
    if (loss.isPresumed !== true) host.copyAwaited();
    const waitMs = this.failures.copyPauseMs(timers.nowMs());
    // What is only presumed to be damaged is tried meanwhile.
    const pauseMs = loss.isPresumed === true ? Math.min(waitMs, presumedPauseMs) : waitMs;
    if (pauseMs > 0) await pause(timers, pauseMs, context.end.signal);
    const isReplaced =
      pauseMs === waitMs && !context.wishes.stopping && (await replace(loss, context.end.signal));
    if (isReplaced) this.failures.copied(timers.nowMs());
    context.hasNoBetter = !isReplaced;
    context.wishes.loss = null;
    return { kind: 'inspect' };
  }

  /** The database has answered a query of this replica's own. */
  answered(): void {
    this.context.hasNoBetter = false;
    this.failures.answered();
  }

  private failed(error: unknown): Next {
    const { options, context } = this;
    const reason = error instanceof Error ? error.message : String(error);
    if (!context.wishes.stopping) options.logger.error({ err: error }, 'PostgreSQL could not be run');
    options.onDown(`PostgreSQL could not be run: ${reason}`);
    options.host.stepDown();
    const loss = context.wishes.stopping ? null : this.failures.failed(error);
    return loss === null ? { kind: 'inspect' } : { kind: 'lost', loss };
  }

  async stop(): Promise<void> {
    const { wishes, signal, end } = this.context;
    wishes.stopping = true;
    signal.notify();
    // A primary may take a moment to end in order; all else ends now.
    if (this.context.shipper === null) end.abort(new Error('the replica is stopping'));
    await this.work;
    end.abort(new Error('the replica has stopped'));
    this.context.drop();
  }
}
