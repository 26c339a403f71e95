/**
 * What a socket reads, worked off in pieces that take a thread a millisecond or two: a chunk of small messages can hold thousands.
 *
 * Responsible for: the size of pieces, which follows the time that they take, and for what waits while the thread has others to serve (thread-share.ts), or while reading is stopped for a reason of its user's.
 * Invariants: bytes come in their order, each once; while some wait, none are read from the socket; nothing is worked off while it is stopped.
 */
import type { Duplex } from 'node:stream';
import type { ThreadShare } from './thread-share.ts';
import { type PauseReason, Valve } from './valve.ts';

const pieceBytes = { min: 1_024, first: 4_096, max: 1_048_576 } as const;
/** A piece that took less is followed by one twice as long; one that took more, by one half as long. */
const pieceMs = { min: 0.5, max: 2 } as const;

export class Intake {
  private readonly valve: Valve;
  private readonly share: ThreadShare;
  private readonly take: (piece: Buffer) => void;
  private readonly piece = (): boolean => this.turn();
  private size: number = pieceBytes.first;
  private rest: Buffer | null = null;
  /** It waits for a turn. */
  private isWaiting = false;
  private isBusy = false;
  private onEmpty: (() => void) | null = null;

  constructor(socket: Duplex, share: ThreadShare, take: (piece: Buffer) => void) {
    this.valve = new Valve(socket);
    this.share = share;
    this.take = take;
  }

  /** What the socket has read. */
  add(chunk: Buffer): void {
    const isFresh = this.rest === null;
    if (isFresh && chunk.length <= pieceBytes.min && !this.isBusy && this.valve.isOpenBut('turn')) {
      // Not worth a look at the clock: however many sockets there are, each has one such chunk in a turn.
      this.takeWhole(chunk);
      return;
    }
    this.rest = this.rest === null ? chunk : Buffer.concat([this.rest, chunk]);
    if (this.isBusy) return;
    while (this.canGoOn && this.share.hasTime) this.work();
    this.settle(isFresh);
  }

  pause(reason: PauseReason): void {
    this.valve.pause(reason);
  }

  resume(reason: PauseReason): void {
    this.valve.resume(reason);
    if (!this.isBusy) this.settle(true);
  }

  /** All that waits is worked off now: the socket has ended. */
  flush(): void {
    while (this.rest !== null && !this.isBusy) this.work();
    this.settle(false);
  }

  /** The socket has ended: called once all that it has read is worked off. */
  whenEmpty(act: () => void): void {
    if (this.rest === null) act();
    else this.onEmpty = act;
  }

  get isEmpty(): boolean {
    return this.rest === null;
  }

  /** Nothing of it is of use any more. */
  drop(): void {
    this.rest = null;
    this.onEmpty = null;
    this.valve.resume('turn');
  }

  private get canGoOn(): boolean {
    return this.rest !== null && this.valve.isOpenBut('turn');
  }

  private turn(): boolean {
    this.isWaiting = false;
    if (this.isBusy) return false;
    if (this.canGoOn) this.work();
    this.isWaiting = this.canGoOn;
    if (!this.isWaiting) this.settle(false);
    return this.isWaiting;
  }

  private takeWhole(chunk: Buffer): void {
    this.isBusy = true;
    try {
      this.take(chunk);
    } finally {
      this.isBusy = false;
    }
    // Perhaps it was stopped, and something has come meanwhile.
    if (this.rest !== null) this.settle(true);
  }

  private work(): void {
    const { rest, size } = this;
    if (rest === null) return;
    this.rest = rest.length > size ? rest.subarray(size) : null;
    const begunAtMs = this.share.nowMs();
    this.isBusy = true;
    try {
      this.take(rest.length > size ? rest.subarray(0, size) : rest);
    } finally {
      this.isBusy = false;
      const tookMs = this.share.nowMs() - begunAtMs;
      this.share.spend(tookMs);
      if (tookMs > pieceMs.max) this.size = Math.max(pieceBytes.min, size / 2);
      else if (tookMs < pieceMs.min && rest.length >= size) this.size = Math.min(pieceBytes.max, size * 2);
    }
  }

  /** Whether it reads on, or waits. */
  private settle(isFresh: boolean): void {
    if (this.rest === null) {
      this.valve.resume('turn');
      const { onEmpty } = this;
      this.onEmpty = null;
      onEmpty?.();
      return;
    }
    this.valve.pause('turn');
    if (this.isWaiting || !this.canGoOn) return;
    this.isWaiting = true;
    this.share.wait(this.piece, isFresh);
  }
}
