/**
 * The pages that watch the demo: what each is sent, and what is left out for one that reads too slowly.
 *
 * Invariant: a page that does not read costs bounded memory and delays nobody. Statuses are only sent if the last ones have gone; event frames
 * are dropped, and the gap shows in their numbers.
 */
import { WebSocket } from 'ws';

const clientsMax = 32;
const bufferedBytesMax = 8 * 1024 * 1024;

export interface StreamHub {
  join(socket: WebSocket): void;
  /** Sends one frame, already serialised, to every page. `droppable`: when a page is behind, leave it out. */
  broadcast(text: string, droppable: boolean): void;
  clients(): number;
  close(): void;
}

/** `onFirst` and `onLast`: someone began to watch, nobody watches any more. `greeting`: what a new page gets at once. */
export function createStreamHub(options: {
  readonly onFirst: () => void;
  readonly onLast: () => void;
  readonly greeting: () => string;
}): StreamHub {
  const clients = new Set<WebSocket>();
  return {
    join(socket) {
      if (clients.size >= clientsMax) {
        socket.close(1013, 'too many pages');
        return;
      }
      clients.add(socket);
      socket.on('error', () => socket.terminate());
      socket.on('close', () => {
        if (clients.delete(socket) && clients.size === 0) options.onLast();
      });
      socket.send(options.greeting());
      if (clients.size === 1) options.onFirst();
    },
    broadcast(text, droppable) {
      for (const socket of clients) {
        if (socket.readyState !== WebSocket.OPEN) continue;
        if (droppable && socket.bufferedAmount > bufferedBytesMax / 2) continue;
        if (socket.bufferedAmount > bufferedBytesMax) socket.terminate();
        else socket.send(text);
      }
    },
    clients: () => clients.size,
    close() {
      for (const socket of clients) socket.terminate();
      clients.clear();
    },
  };
}
