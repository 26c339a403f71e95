/**
 * What goes to a client: collected, kept back where it may yet have to be taken back, and let go only under the lease.
 *
 * Invariants: every answer passes `leaseHeld` after PostgreSQL produced it (Agreement), in order; a client that reads slowly
 * stops PostgreSQL's answers, so that what waits here is bounded by what one read of the socket brings.
 */
import type { Socket } from 'node:net';
import { writeAll } from './backend-link.ts';

export interface LeaseGate {
  readonly held: () => boolean;
  /** True once the lease is held again, false once leadership has ended. */
  readonly awaitHeld: () => Promise<boolean>;
}

export interface ClientOutput {
  /** Part of the answer to the client's statement. */
  answer(bytes: Buffer): void;
  /** What holds however the statement ends: notifications, changed parameters. */
  aside(bytes: Buffer): void;
  /** From here on answers are kept back, in order, until `release` or `discard`. */
  hold(): void;
  release(): void;
  /** Takes back the answers that are kept back; asides go out. */
  discard(): void;
  /** What is kept back; it stays so. */
  peekHeld(): Buffer[];
  /** Goes ahead of what is kept back, and needs no lease unless it has to wait for its turn: not part of any answer. */
  tell(bytes: Buffer): void;
  /** Removes and returns what is kept back. */
  takeHeld(): Buffer[];
  /** What waits for the lease, for last words that say that its transaction is committed: rows must not be missing from them. */
  takeWaiting(): Buffer[];
  /** Sends what is not kept back. */
  flush(): void;
  /** What is waiting tells of a transaction that a majority has chosen: it may go, lease or not. */
  markChosen(): void;
  /** ReadyForQuery: goes with what is waiting. */
  ready(bytes: Buffer): void;
  /** Drops what has not left and closes the connection with these last words. */
  end(lastWords: Buffer | null): void;
  readonly holding: boolean;
  readonly heldBytes: number;
  readonly closed: boolean;
}

interface Held {
  readonly bytes: Buffer;
  readonly aside: boolean;
}

export const createClientOutput = (options: {
  readonly socket: Socket;
  readonly gate: LeaseGate;
  /** Called to stop and restart what PostgreSQL sends. */
  readonly pause: (reason: 'lease' | 'client') => void;
  readonly resume: (reason: 'lease' | 'client') => void;
  readonly onLeaseLost: () => void;
}): ClientOutput => {
  const { socket, gate } = options;
  let ready: Buffer[] = [];
  let held: Held[] | null = null;
  let heldBytes = 0;
  let waitingForLease = false;
  let waitingForClient = false;
  let closed = false;
  let chosen = false;

  const waitForLease = (): void => {
    waitingForLease = true;
    options.pause('lease');
    gate
      .awaitHeld()
      .catch(() => false)
      .then((isHeld) => {
        waitingForLease = false;
        if (closed) return;
        if (!isHeld) {
          options.onLeaseLost();
          return;
        }
        flush();
        if (!waitingForLease) options.resume('lease');
      })
      .catch(() => socket.destroy());
  };

  const write = (): void => {
    const buffers = ready;
    ready = [];
    if (socket.destroyed) return;
    const room = writeAll(socket, buffers);
    if (!room && !waitingForClient) {
      waitingForClient = true;
      options.pause('client');
    }
  };

  const flush = (): void => {
    if (ready.length === 0 || closed) return;
    if (chosen) write();
    else if (waitingForLease) return;
    else if (gate.held()) write();
    else waitForLease();
  };

  socket.on('drain', () => {
    if (!waitingForClient) return;
    waitingForClient = false;
    options.resume('client');
  });

  /** Neighbouring views of one chunk become one. */
  const push = (bytes: Buffer): void => {
    const last = ready.at(-1);
    if (
      last !== undefined &&
      last.buffer === bytes.buffer &&
      last.byteOffset + last.length === bytes.byteOffset
    ) {
      ready[ready.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + bytes.length);
    } else ready.push(bytes);
  };

  const add = (bytes: Buffer, aside: boolean): void => {
    if (closed) return;
    chosen = false;
    if (held === null) push(bytes);
    else {
      held.push({ bytes, aside });
      heldBytes += bytes.length;
    }
  };

  const letGo = (keep: (entry: Held) => boolean): void => {
    const entries = held ?? [];
    held = null;
    heldBytes = 0;
    for (const entry of entries) if (keep(entry)) push(entry.bytes);
  };

  return {
    answer: (bytes) => add(bytes, false),
    aside: (bytes) => add(bytes, true),
    hold() {
      held ??= [];
    },
    release: () => letGo(() => true),
    discard: () => letGo((entry) => entry.aside),
    takeHeld() {
      const entries = held ?? [];
      held = null;
      heldBytes = 0;
      return entries.map((entry) => entry.bytes);
    },
    takeWaiting() {
      const waiting = ready;
      ready = [];
      return waiting;
    },
    peekHeld: () => (held ?? []).map((entry) => entry.bytes),
    tell(bytes) {
      if (closed) return;
      const waits = ready.length > 0;
      push(bytes);
      if (waits) flush();
      else write();
    },
    flush,
    markChosen() {
      letGo(() => true);
      chosen = true;
    },
    ready(bytes) {
      if (closed) return;
      push(bytes);
      flush();
      chosen = false;
    },
    end(lastWords) {
      if (closed) return;
      closed = true;
      if (lastWords === null) socket.end();
      else socket.end(lastWords);
      ready = [];
      held = null;
    },
    get holding() {
      return held !== null;
    },
    get heldBytes() {
      return heldBytes;
    },
    get closed() {
      return closed;
    },
  };
};
