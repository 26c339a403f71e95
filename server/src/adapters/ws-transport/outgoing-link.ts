/**
 * The connection that this replica dials to one peer, over which all its messages to that peer go.
 *
 * Responsible for: dialling, proving and checking the secret, probing, dialling again with growing waits, and the bound on what
 * waits to be sent. Does not receive peer messages: those come over the connection that the peer dialled.
 * Invariant: `send` never throws and never blocks; what cannot be queued is dropped.
 */
import { WebSocket } from 'ws';
import type { ReplicaId } from '../../multipaxos/types.ts';
import {
  type Answer,
  answerChallenge,
  type Challenge,
  checkWelcome,
  type Identity,
  newNonce,
  protocolVersion,
  readChallenge,
  readWelcome,
} from './handshake.ts';
import type { TransportLimits } from './limits.ts';

export interface OutgoingLink {
  readonly peer: ReplicaId;
  /** False if the frame was dropped. */
  send(frame: Uint8Array): boolean;
  isUp(): boolean;
  queuedBytes(): number;
  close(): void;
}

interface LinkOptions {
  readonly self: Identity;
  readonly peer: { readonly id: ReplicaId; readonly host: string; readonly port: number };
  readonly limits: TransportLimits;
  /** `reason` says why it went down, or why it could not come up; only told when it changes. */
  readonly onChange: (up: boolean, reason: string) => void;
}

export function openOutgoingLink(options: LinkOptions): OutgoingLink {
  const { limits, peer } = options;
  let attempt: Attempt | null = null;
  let retry: NodeJS.Timeout | null = null;
  let failures = 0;
  let lastReason = '';
  let closed = false;

  const dial = (): void => {
    retry = null;
    attempt = startAttempt(options, { onUp, onEnd });
  };
  const onUp = (): void => {
    failures = 0;
    lastReason = '';
    options.onChange(true, 'connected');
  };
  const onEnd = (wasUp: boolean, reason: string): void => {
    attempt = null;
    if (closed) return;
    if (wasUp || reason !== lastReason) options.onChange(false, reason);
    lastReason = reason;
    const waitMs = Math.min(limits.retryMsMax, limits.retryMsMin * 2 ** Math.min(failures, 16));
    failures += 1;
    // Jitter, so that replicas that were started together do not dial in step.
    retry = setTimeout(dial, waitMs * (0.75 + Math.random() / 4));
  };
  dial();

  return {
    peer: peer.id,
    send: (frame) => attempt?.send(frame) ?? false,
    isUp: () => attempt?.isUp() ?? false,
    queuedBytes: () => attempt?.queuedBytes() ?? 0,
    close: () => {
      closed = true;
      if (retry !== null) clearTimeout(retry);
      attempt?.end();
      attempt = null;
    },
  };
}

interface Attempt {
  send(frame: Uint8Array): boolean;
  isUp(): boolean;
  queuedBytes(): number;
  end(): void;
}

interface AttemptEvents {
  readonly onUp: () => void;
  readonly onEnd: (wasUp: boolean, reason: string) => void;
}

/** One life of the connection: challenge, answer, welcome, then open until it ends. */
function startAttempt({ self, peer, limits }: LinkOptions, events: AttemptEvents): Attempt {
  const host = peer.host.includes(':') ? `[${peer.host}]` : peer.host;
  const socket = new WebSocket(`ws://${host}:${peer.port}/peer`, {
    perMessageDeflate: false,
    maxPayload: limits.frameBytesMax,
    handshakeTimeout: limits.handshakeMs,
    // A mask of zeros: masks protect from broken web proxies, and here only cost a copy of every payload.
    generateMask: () => undefined,
  });
  let up = false;
  let reason = 'connection closed';
  let asked: { readonly challenge: Challenge; readonly answer: Answer } | null = null;
  let heardAtMs = performance.now();

  const fail = (why: string): void => {
    reason = why;
    socket.terminate();
  };
  const handshakeTimer = setTimeout(() => fail('no answer to the handshake'), limits.handshakeMs);
  const probeTimer = setInterval(() => {
    if (!up) return;
    if (performance.now() - heardAtMs > limits.silenceMsMax) fail('no sign of life');
    else socket.ping();
  }, limits.probeMs);

  const onText = (text: string): void => {
    if (asked === null) {
      const challenge = readChallenge(text);
      if (challenge === null) return fail('not a replica');
      if (challenge.version !== protocolVersion) {
        return fail(`speaks version ${challenge.version} of the peers' protocol, not ${protocolVersion}`);
      }
      asked = { challenge, answer: answerChallenge(self, peer.id, challenge, newNonce()) };
      socket.send(JSON.stringify(asked.answer));
      return;
    }
    const welcome = readWelcome(text);
    if (up || welcome === null || !checkWelcome(self, asked.challenge, asked.answer, welcome)) {
      return fail('does not know the cluster secret');
    }
    clearTimeout(handshakeTimer);
    up = true;
    events.onUp();
  };

  socket.on('message', (data, isBinary) => {
    if (isBinary) fail('sent a message over the wrong connection');
    else onText((data as Buffer).toString('utf8'));
  });
  socket.on('pong', () => {
    heardAtMs = performance.now();
  });
  socket.on('error', (error) => {
    reason = error.message || (error as NodeJS.ErrnoException).code || 'connection failed';
  });
  socket.on('close', (_code, said) => {
    clearTimeout(handshakeTimer);
    clearInterval(probeTimer);
    const wasUp = up;
    up = false;
    events.onEnd(wasUp, said.length > 0 ? `refused: ${said.toString('utf8')}` : reason);
  });

  return {
    send(frame) {
      if (!up || socket.readyState !== WebSocket.OPEN) return false;
      if (socket.bufferedAmount + frame.byteLength > limits.queueBytesMax) return false;
      socket.send(frame, { binary: true });
      return true;
    },
    isUp: () => up && socket.readyState === WebSocket.OPEN,
    queuedBytes: () => socket.bufferedAmount,
    end: () => socket.terminate(),
  };
}
