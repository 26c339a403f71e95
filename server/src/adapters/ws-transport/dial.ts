/**
 * One dialled connection to a peer, from the first byte to its end.
 *
 * Responsible for: dialling, proving and checking the secret, and probing whether the other side lives. Does not dial again, and does not
 * know what the connection is used for.
 * Invariant: nothing but the handshake passes before both sides have proved that they know the secret.
 */
import { WebSocket } from 'ws';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import {
  type Answer,
  answerChallenge,
  type Challenge,
  checkWelcome,
  clusterProblem,
  type Identity,
  newNonce,
  protocolVersion,
  type Purpose,
  readChallenge,
  readWelcome,
} from './handshake.ts';
import type { TransportLimits } from './limits.ts';

export interface DialOptions {
  /** As it is now: the cluster may become known while a connection is being made. */
  readonly self: () => Identity;
  readonly peer: { readonly id: ReplicaId; readonly host: string; readonly port: number };
  readonly purpose: Purpose;
  readonly limits: TransportLimits;
}

export interface DialEvents {
  /** Both sides are proved. `cluster`: the one that the peer belongs to, as far as it knows. */
  readonly onUp: (cluster: string | null) => void;
  readonly onText: (text: string) => void;
  readonly onBinary: (data: Buffer) => void;
  /** Once, whether it was up or not. `isGone`: its host says that nobody listens there. */
  readonly onEnd: (reason: string, isGone: boolean) => void;
}

export interface DialledSocket {
  readonly socket: WebSocket;
  isUp(): boolean;
  /** Ends the connection; `onEnd` is told why. */
  fail(reason: string): void;
}

export function dialPeer({ self, peer, purpose, limits }: DialOptions, events: DialEvents): DialledSocket {
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
  let isGone = false;
  let asked: { readonly challenge: Challenge; readonly answer: Answer } | null = null;
  let heardAtMs = performance.now();
  const heard = (): void => {
    heardAtMs = performance.now();
  };

  const fail = (why: string): void => {
    reason = why;
    socket.terminate();
  };
  const handshakeTimer = setTimeout(() => fail('no answer to the handshake'), limits.handshakeMs);
  const probeTimer = setInterval(() => {
    if (!up) return;
    // While it is paused nothing is read, answers to probes included.
    if (socket.isPaused) heard();
    else if (performance.now() - heardAtMs > limits.silenceMsMax) fail('no sign of life');
    else socket.ping();
  }, limits.probeMs);

  const onHandshake = (text: string): void => {
    if (asked === null) {
      const challenge = readChallenge(text);
      if (challenge === null) return fail('not a replica');
      if (challenge.version !== protocolVersion) {
        return fail(`speaks version ${challenge.version} of the peers' protocol, not ${protocolVersion}`);
      }
      const answer = answerChallenge(self(), { to: peer.id, purpose }, challenge, newNonce());
      asked = { challenge, answer };
      socket.send(JSON.stringify(answer));
      return;
    }
    const said = readWelcome(text);
    const welcome = said === null ? null : checkWelcome(self(), asked.challenge, asked.answer, said);
    if (welcome === null) return fail('does not know the cluster secret');
    const differs = clusterProblem(self().cluster, welcome.cluster);
    if (differs !== null) return fail(differs);
    clearTimeout(handshakeTimer);
    up = true;
    events.onUp(welcome.cluster);
  };

  socket.on('message', (data, isBinary) => {
    heard();
    if (socket.readyState !== WebSocket.OPEN) return;
    if (isBinary && !up) fail('sent a message before it proved itself');
    else if (isBinary) events.onBinary(data as Buffer);
    else if (up) events.onText((data as Buffer).toString('utf8'));
    else onHandshake((data as Buffer).toString('utf8'));
  });
  socket.on('pong', heard);
  socket.on('error', (error) => {
    const { code } = error as NodeJS.ErrnoException;
    isGone = isRefusal(error);
    reason = error.message || code || 'connection failed';
  });
  socket.on('close', (_code, said) => {
    clearTimeout(handshakeTimer);
    clearInterval(probeTimer);
    up = false;
    events.onEnd(said.length > 0 ? `refused: ${said.toString('utf8')}` : reason, isGone);
  });

  return { socket, isUp: () => up && socket.readyState === WebSocket.OPEN, fail };
}

/** A host of several addresses that could all not be reached has one error for each: its code is that of the first, which may be of a network that is not there. */
export function isRefusal(error: Error): boolean {
  const each = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error];
  return each.some((one) => (one as NodeJS.ErrnoException).code === 'ECONNREFUSED');
}
