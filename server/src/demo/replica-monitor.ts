/**
 * What the supervisor knows of one running replica: its last status, its readings for rates, its events.
 *
 * Responsible for: asking often, never twice at a time, and never for ever. Invariant: a replica that does not answer costs nothing but
 * time; what is known of it stays, with its age.
 */
import { Agent } from 'node:http';
import { WebSocket } from 'ws';
import type { LinkFault, ReplicaStatus } from '../api/status.ts';
import type { LatencyBuckets } from '../gateways/http/latency-buckets.ts';
import { requestJson } from './http-client.ts';
import { demoHost, type ReplicaPlan } from './layout.ts';
import type { Reading } from './rates.ts';

const answerMsMax = 1000;
const pollMs = 200;
/** Of a replica that serves, while no page is open: nobody looks, and asking is most of what an idle cluster would do. */
const quietPollMs = 1000;
const reconnectMs = 300;
const eventFrameBytesMax = 8 * 1024 * 1024;

export interface ReplicaMonitor {
  readonly plan: ReplicaPlan;
  status(): ReplicaStatus | null;
  ageMs(): number | null;
  /** Asks at once. Null if there is no answer. */
  ask(): Promise<ReplicaStatus | null>;
  read(): Promise<Reading | null>;
  /** @throws if there is no answer; returns what the replica objected, or null */
  setFaults(faults: readonly LinkFault[]): Promise<string | null>;
  /** Streams the replica's event frames, as their text, to `onFrame` until called with null. */
  streamEvents(onFrame: ((text: string) => void) | null): void;
  close(): void;
}

export function createReplicaMonitor(
  plan: ReplicaPlan,
  onStatus: (status: ReplicaStatus) => void,
): ReplicaMonitor {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  let status: ReplicaStatus | null = null;
  let statusAtMs = 0;
  let asks = 0;
  let newest = 0;
  let closed = false;
  let watched = false;
  let timer: NodeJS.Timeout;
  const events = createEventStream(plan);

  const get = async (path: string): Promise<unknown> => {
    try {
      const answer = await requestJson({ port: plan.httpPort, path, timeoutMs: answerMsMax, agent });
      return answer.status === 200 ? answer.body : null;
    } catch {
      return null;
    }
  };
  const ask = async (): Promise<ReplicaStatus | null> => {
    asks += 1;
    const number = asks;
    const answer = (await get('/api/status')) as ReplicaStatus | null | undefined;
    if (answer?.id !== plan.id || closed) return null;
    // Answers may overtake each other; what is known never goes back in time.
    if (number < newest) return answer;
    newest = number;
    status = answer;
    statusAtMs = performance.now();
    onStatus(answer);
    return answer;
  };
  const poll = async (): Promise<void> => {
    const now = await ask();
    if (closed) return;
    const isQuiet = !watched && now?.state === 'serving';
    timer = setTimeout(() => void poll(), isQuiet ? quietPollMs : pollMs);
  };
  timer = setTimeout(() => void poll(), 0);

  return {
    plan,
    status: () => status,
    ageMs: () => (status === null ? null : Math.round(performance.now() - statusAtMs)),
    ask,
    async read() {
      const now = status;
      const atMs = statusAtMs;
      const latencies = (await get('/api/latencies')) as LatencyBuckets | null | undefined;
      if (now === null || !Array.isArray(latencies?.upToMs)) return null;
      return { atMs, pid: now.pid, counters: now.counters, latencies };
    },
    async setFaults(faults) {
      const body = { heal: true, faults };
      const timeoutMs = answerMsMax;
      const answer = await requestJson({
        port: plan.httpPort,
        path: '/api/faults',
        method: 'POST',
        body,
        timeoutMs,
        agent,
      });
      if (answer.status === 200) return null;
      const said = answer.body as { readonly error?: { readonly message?: string } } | null | undefined;
      return said?.error?.message ?? `HTTP ${answer.status}`;
    },
    streamEvents(onFrame) {
      watched = onFrame !== null;
      events.to(onFrame);
    },
    close() {
      closed = true;
      clearTimeout(timer);
      events.to(null);
      agent.destroy();
    },
  };
}

/** Keeps a connection to the replica's stream of events while someone wants it. */
function createEventStream(plan: ReplicaPlan): { to(onFrame: ((text: string) => void) | null): void } {
  let wanted: ((text: string) => void) | null = null;
  let socket: WebSocket | null = null;
  let retry: NodeJS.Timeout | null = null;

  const connect = (): void => {
    retry = null;
    const current = new WebSocket(`ws://${demoHost}:${plan.httpPort}/api/events`, {
      perMessageDeflate: false,
      maxPayload: eventFrameBytesMax,
      handshakeTimeout: answerMsMax,
    });
    socket = current;
    current.on('message', (data) => wanted?.((data as Buffer).toString('utf8')));
    current.on('error', () => current.terminate());
    current.on('close', () => {
      if (socket !== current) return;
      socket = null;
      if (wanted !== null) retry = setTimeout(connect, reconnectMs);
    });
  };

  return {
    to(onFrame) {
      wanted = onFrame;
      if (onFrame !== null) {
        if (socket === null && retry === null) connect();
        return;
      }
      if (retry !== null) clearTimeout(retry);
      retry = null;
      const current = socket;
      socket = null;
      current?.terminate();
    },
  };
}
