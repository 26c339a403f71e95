/** Stops and starts the reading of a socket, for several reasons at once. */
import type { Duplex } from 'node:stream';

/** `gate`: what was read may not leave yet. `full`: the other end takes no more. `waiting`: something must be done before what is read can be passed on. */
export type PauseReason = 'gate' | 'full' | 'waiting';

const bits: Readonly<Record<PauseReason, number>> = { gate: 1, full: 2, waiting: 4 };

export class Valve {
  private readonly socket: Duplex;
  private closed = 0;

  constructor(socket: Duplex) {
    this.socket = socket;
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
