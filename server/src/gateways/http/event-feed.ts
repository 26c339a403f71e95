/**
 * Hands a replica's events to the clients of its WebSocket stream, in batches.
 *
 * Frames are `{ "type": "events", "events": [...], "dropped": n }`, `dropped` being the events left out since the frame before.
 * Responsible for: what a new client is shown of the past (what is rare), batching, and bounds. Invariants: a slow client never slows down the replica, and
 * costs bounded memory; while nobody listens, frequent events are not even made; under a flood the rare ones (elections, failures) outlast the bulk.
 */
import type { WebSocket } from 'ws';
import { isFrequent, type TraceEvent } from '../../api/events.ts';

const historyMax = 400;
const batchMs = 100;
const bulkPerBatchMax = 250;
const rarePerBatchMax = 500;
const clientsMax = 16;
const bufferedBytesMax = 4 * 1024 * 1024;

/** Gives every event, or the rare ones, from now on, until the function that it returns is called. `watching`: people look on. */
export type Subscribe = (listener: (event: TraceEvent) => void, attention: 'rare' | 'watching') => () => void;

export interface EventFeed {
  /** Takes a client, or closes the socket if there are too many. */
  join(socket: WebSocket): void;
  clients(): number;
  /** Events that some client did not get. */
  dropped(): number;
  close(): void;
}

interface Client {
  readonly socket: WebSocket;
  events: TraceEvent[];
  bulkWaiting: number;
  dropped: number;
}

export function createEventFeed(subscribe: Subscribe): EventFeed {
  const clients = new Set<Client>();
  const history: TraceEvent[] = [];
  let droppedTotal = 0;
  let timer: NodeJS.Timeout | null = null;

  const flush = (): void => {
    timer = null;
    for (const client of clients) {
      if (client.socket.bufferedAmount > bufferedBytesMax) {
        client.dropped += client.events.length;
        droppedTotal += client.events.length;
      } else if (client.events.length > 0 || client.dropped > 0) {
        client.socket.send(
          JSON.stringify({ type: 'events', events: client.events, dropped: client.dropped }),
        );
        client.dropped = 0;
      }
      client.events = [];
      client.bulkWaiting = 0;
    }
  };
  const offer = (client: Client, event: TraceEvent): void => {
    const isBulk = isFrequent(event.name);
    const full = isBulk
      ? client.bulkWaiting >= bulkPerBatchMax
      : client.events.length - client.bulkWaiting >= rarePerBatchMax;
    if (full) {
      client.dropped += 1;
      droppedTotal += 1;
      return;
    }
    if (isBulk) client.bulkWaiting += 1;
    client.events.push(event);
  };

  const publish = (event: TraceEvent): void => {
    if (!isFrequent(event.name)) {
      history.push(event);
      // Cut back in blocks, so that keeping the history costs next to nothing per event.
      if (history.length >= historyMax * 2) history.splice(0, history.length - historyMax);
    }
    if (clients.size === 0) return;
    for (const client of clients) offer(client, event);
    timer ??= setTimeout(flush, batchMs);
  };
  let unsubscribe = subscribe(publish, 'rare');
  const listen = (attention: 'rare' | 'watching'): void => {
    unsubscribe();
    unsubscribe = subscribe(publish, attention);
  };

  return {
    join(socket) {
      if (clients.size >= clientsMax) {
        socket.close(1013, 'too many listeners');
        return;
      }
      const client: Client = { socket, events: history.slice(-historyMax), bulkWaiting: 0, dropped: 0 };
      clients.add(client);
      if (clients.size === 1) listen('watching');
      socket.on('close', () => {
        if (clients.delete(client) && clients.size === 0) listen('rare');
      });
      socket.on('error', () => socket.terminate());
      timer ??= setTimeout(flush, batchMs);
    },
    clients: () => clients.size,
    dropped: () => droppedTotal,
    close() {
      unsubscribe();
      if (timer !== null) clearTimeout(timer);
      const sockets = [...clients].map(({ socket }) => socket);
      // Empty first: whoever goes now changes nothing any more.
      clients.clear();
      for (const socket of sockets) socket.terminate();
    },
  };
}
