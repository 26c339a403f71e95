/**
 * Pauses that are agreed on, so that a moment comes in which no transaction is open: asked for by whoever needs it, and ended where it does not come soon.
 *
 * Responsible for: when a pause is worth asking for, when nobody waits any longer, and that what keeps the moment from coming is ended where it must come. What a pause does is the executor's business (payload/statements/serial-executor.ts).
 * Invariants: clients are held up by a pause for `holdMsMax` and the time that it takes to agree, whatever other clients do; where no transaction ends, for `idleMsMax`; twice as long where it is pressed; and for less than a tenth of the time by pauses that came to nothing.
 */
import type { Timers } from '../../ports/clock.ts';
import type { Operation, SessionId } from '../../payload/statements/operation.ts';

export interface PausesOptions {
  readonly timers: Pick<Timers, 'every' | 'nowMs'>;
  /** 32 hexadecimal digits. */
  readonly randomName: () => string;
  readonly submit: (operation: Operation) => void;
  /** A pause that is agreed on now is executed here soon, and may bring the moment. */
  readonly isOfUse: () => boolean;
  /** Transactions that are open here. */
  readonly open: () => number;
  /** The moment must come: open transactions, and sessions that hold what outlives them, are ended for it. */
  readonly isPressed: () => boolean;
  /** Somebody here waits for the moment. */
  readonly isAwaited: () => boolean;
  /** Those sessions. */
  readonly bound: () => readonly SessionId[];
}

export const holdMsMax = 5_000;
export const idleMsMax = 1_000;
/** Behind one that came to nothing, whoever asked for it. */
export const notAgainMs = 20_000;
const lookMs = 100;
const askAgainMs = 1_000;

interface Pause {
  readonly name: string;
  sinceMs: number;
  /** What was open is being ended. */
  isForced: boolean;
  /** When a transaction has ended last. */
  endedMs: number;
  /** Not before then it is asked for its end, again where that was lost. */
  askAtMs: number;
  open: number;
}

export class AgreedPauses {
  private readonly options: PausesOptions;
  private pause: Pause | null = null;
  private notBeforeMs = 0;
  private stopLooking: () => void = () => undefined;

  constructor(options: PausesOptions) {
    this.options = options;
  }

  ask(): void {
    const { timers, randomName, submit, isOfUse, isPressed } = this.options;
    if ((timers.nowMs() >= this.notBeforeMs || isPressed()) && isOfUse())
      submit({ kind: 'pause', name: randomName() });
  }

  /** It is executed here: beginnings are held back. */
  begun(name: string): void {
    this.ended();
    const { timers, open } = this.options;
    const sinceMs = timers.nowMs();
    this.pause = { name, sinceMs, endedMs: sinceMs, askAtMs: 0, open: open(), isForced: false };
    this.stopLooking = timers.every(lookMs, () => this.look());
  }

  /** What was held back goes on here, or the database is there no more. */
  ended(): void {
    this.stopLooking();
    this.stopLooking = () => undefined;
    this.pause = null;
  }

  private look(): void {
    const { pause } = this;
    if (pause === null) return;
    const { timers, open, submit, isPressed, isAwaited } = this.options;
    const nowMs = timers.nowMs();
    if (open() < pause.open) pause.endedMs = nowMs;
    pause.open = open();
    if (nowMs - pause.endedMs < idleMsMax && nowMs - pause.sinceMs < holdMsMax) return;
    if (isPressed() && isAwaited() && !pause.isForced) {
      pause.isForced = true;
      pause.sinceMs = nowMs;
      pause.endedMs = nowMs;
      this.force(pause.name);
      return;
    }
    if (nowMs < pause.askAtMs) return;
    pause.askAtMs = nowMs + askAgainMs;
    this.notBeforeMs = nowMs + notAgainMs;
    submit({ kind: 'resume', name: pause.name });
  }

  private force(pause: string): void {
    const { submit, bound } = this.options;
    submit({ kind: 'cancelOpen', session: null, pause });
    for (const session of bound()) submit({ kind: 'close', session });
  }
}
