/**
 * The pages that watch the demo: what each is sent, and what is left out for one that reads too slowly.
 *
 * Invariant: a page that does not read costs bounded memory and delays nobody; it misses frames, and the gap shows in the numbers of the events.
 */
import { WebSocket } from 'ws';

const clientsMax = 32;
const bufferedBytesMax = 8 * 1024 * 1024;
const recentFramesMax = 60;
const recentCharsMax = 2 * 1024 * 1024;

export interface StreamHub {
  join(socket: WebSocket): void;
  /** Sends one frame, already serialised, to every page that is not too far behind. */
  broadcast(text: string): void;
  /** The same for a frame of events; pages that come later get the latest of them. */
  broadcastEvents(text: string): void;
  clients(): number;
  close(): void;
}

/** `onFirst` and `onLast`: someone began to watch, nobody watches any more. `greeting`: the frames that a new page gets at once. */
export function createStreamHub(options: {
  readonly onFirst: () => void;
  readonly onLast: () => void;
  readonly greeting: () => readonly string[];
}): StreamHub {
  const clients = new Set<WebSocket>();
  let recent: string[] = [];
  let recentChars = 0;

  const remember = (text: string): void => {
    recent.push(text);
    recentChars += text.length;
    while (recent.length > recentFramesMax || recentChars > recentCharsMax)
      recentChars -= recent.shift()?.length ?? 0;
  };
  const broadcast = (text: string): void => {
    for (const socket of clients) {
      if (socket.readyState === WebSocket.OPEN && socket.bufferedAmount <= bufferedBytesMax)
        socket.send(text);
    }
  };

  return {
    join(socket) {
      if (clients.size >= clientsMax) {
        socket.close(1013, 'too many pages');
        return;
      }
      clients.add(socket);
      socket.on('error', () => socket.terminate());
      socket.on('close', () => {
        if (!clients.delete(socket) || clients.size > 0) return;
        recent = [];
        recentChars = 0;
        options.onLast();
      });
      for (const text of [...options.greeting(), ...recent]) socket.send(text);
      if (clients.size === 1) options.onFirst();
    },
    broadcast,
    broadcastEvents(text) {
      remember(text);
      broadcast(text);
    },
    clients: () => clients.size,
    close() {
      for (const socket of clients) socket.terminate();
      clients.clear();
    },
  };
}
