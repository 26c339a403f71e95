/**
 * Keeps one WebSocket to the server's stream open, and connects again with back-off when it is lost.
 *
 * Does not interpret frames. Keeps: at most one socket and one timer at a time; a socket that says nothing for `silenceMs` counts as
 * lost (a frozen server keeps its connections open); nothing is called after `stop`.
 */
import type { Connection } from '../model/dashboard-state.ts';
import { parseFrame } from '../model/frames.ts';
import type { Frame } from '../model/frames.ts';
import { backoffMs } from './backoff.ts';

const silenceMs = 5000;

export interface StreamListener {
  readonly onFrame: (frame: Frame) => void;
  readonly onConnection: (connection: Connection) => void;
}

export interface StreamClient {
  readonly stop: () => void;
  /** Does not wait for the back-off. */
  readonly retryNow: () => void;
}

export function openStream(url: string, listener: StreamListener): StreamClient {
  let socket: WebSocket | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let attempt = 0;
  let stopped = false;

  const connect = (): void => {
    const current = new WebSocket(url);
    let proven = false;
    socket = current;
    const watch = (): void => {
      clearTimeout(timer);
      timer = setTimeout(lost, silenceMs);
    };
    const lost = (): void => {
      if (stopped || socket !== current) return;
      clearTimeout(timer);
      socket = null;
      current.close();
      attempt += 1;
      const waitMs = backoffMs(attempt, Math.random());
      listener.onConnection({ kind: 'lost', attempt, retryAtMs: Date.now() + waitMs });
      timer = setTimeout(connect, waitMs);
    };
    current.addEventListener('message', (event: MessageEvent<unknown>) => {
      if (stopped || socket !== current || typeof event.data !== 'string') return;
      watch();
      const frame = parseFrame(event.data);
      if (frame === null) return;
      if (!proven) {
        // Only a frame proves that the server works; a proxy may accept a connection that leads nowhere.
        proven = true;
        attempt = 0;
        listener.onConnection({ kind: 'open' });
      }
      listener.onFrame(frame);
    });
    current.addEventListener('close', lost);
    watch();
  };

  connect();
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      socket?.close();
    },
    retryNow: () => {
      if (!stopped && socket === null) connect();
    },
  };
}
