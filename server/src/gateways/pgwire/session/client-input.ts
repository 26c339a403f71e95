/**
 * What a client sends: cut into messages, queued, and taken one by one by the session.
 *
 * Invariant: a full queue stops the reading of the socket, so that what a client can make us hold is bounded.
 */
import type { Socket } from 'node:net';
import { createFrameSplitter } from '../codec/frame-splitter.ts';
import { front } from '../codec/message-types.ts';
import type { PgwireLimits } from '../limits.ts';

/** COPY data may come in pieces; the other messages are whole. */
export interface ClientMessage {
  readonly type: number;
  readonly bytes: Buffer;
}

export interface ClientInput {
  /** The next message if it is there already. */
  take(): ClientMessage | null;
  /** Waits for a message; null once the client has gone. */
  next(): Promise<ClientMessage | null>;
  /** Resolves when `take` would give something, or the client has gone. Takes nothing. */
  available(): Promise<void>;
  /** Returns a message that was taken to the head of the queue. */
  putBack(message: ClientMessage): void;
  push(chunk: Buffer): void;
  /** Forgets what is waiting and takes no more. */
  stop(): void;
  readonly ended: boolean;
}

export const createClientInput = (options: {
  readonly socket: Socket;
  readonly limits: PgwireLimits;
  readonly onViolation: (error: Error) => void;
  /** The connection is closed: nothing can be told to the client any more. */
  readonly onGone: () => void;
}): ClientInput => {
  const { socket, limits } = options;
  let queue: ClientMessage[] = [];
  let head = 0;
  let queuedBytes = 0;
  let ended = false;
  let stopped = false;
  let paused = false;
  let waiting: { readonly promise: Promise<void>; readonly wake: () => void } | null = null;

  const splitter = createFrameSplitter({
    wholeBytesMax: limits.frameBytesMax,
    streamedBytesMax: limits.streamedFrameBytesMax,
    pieceBytesMin: 65_536,
    streams: (type) => type === front.copyData,
  });

  const add = (type: number, bytes: Buffer): void => {
    queue.push({ type, bytes });
    queuedBytes += bytes.length;
    if (queuedBytes > limits.inputQueueBytesMax && !paused) {
      paused = true;
      socket.pause();
    }
  };

  const wakeUp = (): void => {
    const woken = waiting;
    waiting = null;
    woken?.wake();
  };

  /** The client will send nothing more; what it has sent is still served. */
  const end = (): void => {
    ended = true;
    wakeUp();
  };
  const gone = (): void => {
    end();
    options.onGone();
  };

  const push = (chunk: Buffer): void => {
    if (stopped) return;
    try {
      splitter.push(chunk, { frame: add, piece: add });
    } catch (error) {
      options.onViolation(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    wakeUp();
  };

  const take = (): ClientMessage | null => {
    const message = queue[head];
    if (message === undefined) return null;
    head += 1;
    if (head === queue.length) {
      queue = [];
      head = 0;
    }
    queuedBytes -= message.bytes.length;
    if (paused && queuedBytes <= limits.inputQueueBytesMax / 2) {
      paused = false;
      socket.resume();
    }
    return message;
  };

  const available = (): Promise<void> => {
    if (head < queue.length || ended) return Promise.resolve();
    if (waiting === null) {
      let wake = (): void => {};
      const promise = new Promise<void>((resolve) => {
        wake = resolve;
      });
      waiting = { promise, wake };
    }
    return waiting.promise;
  };

  socket.on('data', push);
  socket.on('end', end);
  socket.on('error', gone);
  socket.on('close', gone);

  return {
    push,
    take,
    available,
    stop() {
      queue = [];
      head = 0;
      stopped = true;
      end();
    },
    putBack(message) {
      queue = [message, ...queue.slice(head)];
      head = 0;
      queuedBytes += message.bytes.length;
    },
    async next() {
      for (;;) {
        const message = take();
        if (message !== null) return message;
        if (ended) return null;
        await available();
      }
    },
    get ended() {
      return ended;
    },
  };
};
