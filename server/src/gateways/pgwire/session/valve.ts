/** Stops and starts the reading of a socket, for several reasons at once. */
import type { Duplex } from 'node:stream';

/** `gate`: what was read may not leave yet. `full`: the other end takes no more. `waiting`: something must be done before what is read can be passed on. `answers`: it has asked for so much that is not answered. `turn`: others have theirs. */
export type PauseReason = 'gate' | 'full' | 'waiting' | 'answers' | 'turn';

const bits: Readonly<Record<PauseReason, number>> = { gate: 1, full: 2, waiting: 4, answers: 8, turn: 16 };

export class Valve {
  private readonly socket: Duplex;
  private closed = 0;

  constructor(socket: Duplex) {
    this.socket = socket;
  }

  /** Nothing else stops it. */
  isOpenBut(reason: PauseReason): boolean {
    return (this.closed & ~bits[reason]) === 0;
  }

  pause(reason: PauseReason): void {
    if (this.closed === 0) this.socket.pause();
    this.closed |= bits[reason];
  }

  resume(reason: PauseReason): void {
    if (this.closed === 0) return;
    this.closed &= ~bits[reason];
    if (this.closed === 0) this.socket.resume();
  }
}
