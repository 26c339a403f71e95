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
import type { Ballot, Slot, SlotEntry } from '../../multipaxos/types.ts';
import type { Loss } from '../../ports/database-directory.ts';
import type { Payload } from '../payload.ts';
import { pause } from '../pause.ts';
import { ChosenWal, type ChosenWalOptions } from './chosen-wal.ts';
import { LifeContext, type LifeOptions, type Next } from './life/context.ts';
import { inspect } from './life/inspect-phase.ts';
import { beStandby } from './life/standby-phase.ts';
import { settleWritten } from './life/written-phase.ts';
import type { WalEffect, WalPosition } from './wal-history.ts';

export interface WalPayloadOptions extends Omit<LifeOptions, 'openWal'> {
  readonly log: ChosenWalOptions['log'];
  readonly ringBytesMax: number;
  /** A comparison of the replicas' data is due at this position: nothing beyond it is fed or released until `endVerify`. */
  readonly onVerify: (check: string, position: WalPosition) => void;
  /** A leadership has begun, this replica's or another's. */
  readonly onLeadership: (position: WalPosition) => void;
}

export class WalPayload implements Payload {
  readonly context: LifeContext;
  private readonly options: WalPayloadOptions;
  private work: Promise<void> = Promise.resolve();

  constructor(options: WalPayloadOptions) {
    this.options = options;
    this.context = new LifeContext({ ...options, openWal: (state) => this.openWal(state.position) });
    options.server.onExit((reason) => this.suspect(reason));
  }

  private openWal(base: WalPosition): ChosenWal {
    const { log, host, directory, ringBytesMax } = this.options;
    const wal: ChosenWal = new ChosenWal({
      base,
      log,
      ringBytesMax,
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
    const { host } = this.options;
    const { slot, entry } = slotEntry;
    const label = entryLabel(entry);
    switch (effect.kind) {
      case 'range': {
        context.feed?.more();
        const { leadership, timeline, start } = effect.range;
        if (context.shipper === null)
          context.foldEvent({ name: 'Feed', slot, label, leadership, timeline, start, end: position.end });
        else context.shipper.chosen(position.end);
        break;
      }
      case 'leadership': {
        const { leadership, timeline, fork, resumes } = effect.entry;
        const nextXid = String(effect.entry.nextXid);
        context.standby?.fork(fork);
        context.feed?.more();
        if (context.leads(leadership)) context.holdFoldEvents();
        const role = context.directoryRole?.kind ?? 'copying';
        context.foldEvent({ name: 'BeginLeadership', slot, label, leadership, timeline, fork, nextXid, resumes, role });
        this.options.onLeadership(position);
        break;
      }
      case 'verify':
        context.held = position.end;
        context.shipper?.hold(position.end);
        context.foldEvent({ name: 'Skip', slot, label, why: 'verify' });
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
    context.signal.notify();
  }

  /** What was held for a comparison goes on. */
  endVerify(): void {
    const { context } = this;
    context.held = null;
    context.feed?.more();
    const { position } = context;
    if (position !== null) context.shipper?.letGo(position.end);
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
    signal.notify();
  }

  follow(): void {
    const { wishes, signal } = this.context;
    wishes.leading = null;
    signal.notify();
  }

  purged(upTo: Slot): void {
    this.context.wal?.purged(upTo);
  }

  get pointer(): Slot {
    return this.context.pointer;
  }

  get durablePointer(): Slot {
    return this.context.durablePointer;
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
    const { retryMinMs, retryMaxMs } = options.timings;
    let waitMs = retryMinMs;
    for (let next: Next = { kind: 'inspect' }; next.kind !== 'stopped'; ) {
      const begunAtMs = performance.now();
      try {
        next = await this.phase(next);
      } catch (error) {
        next = this.failed(error);
      }
      if (context.wishes.stopping) break;
      // Whatever lived for a while begins anew at once.
      if (performance.now() - begunAtMs > retryMaxMs) waitMs = retryMinMs;
      if (next.kind !== 'inspect') continue;
      options.onStep(null);
      await pause(waitMs, context.end.signal);
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
    const { server, host, onDown, replace } = options;
    onDown(loss.reason);
    host.stepDown();
    await server.stop('immediate');
    context.drop();
    await replace(loss, context.end.signal);
    context.wishes.loss = null;
    return { kind: 'inspect' };
  }

  private failed(error: unknown): Next {
    const { options, context } = this;
    const reason = error instanceof Error ? error.message : String(error);
    if (!context.wishes.stopping) options.logger.error({ err: error }, 'PostgreSQL could not be run');
    options.onDown(`PostgreSQL could not be run: ${reason}`);
    options.host.stepDown();
    const isLost = (error as { readonly code?: unknown }).code === 'databaseLost';
    return isLost ? { kind: 'lost', loss: { cause: 'databaseLost', reason } } : { kind: 'inspect' };
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
