/**
 * One dialled connection to a peer, from the first byte to its end.
 *
 * Responsible for: dialling, proving and checking the secret, and probing whether the other side lives. Does not dial again, and does not
 * know what the connection is used for.
 * Invariants: nothing but the handshake passes before both sides have proved that they know the secret; with TLS not even that, before the other side has shown a certificate that names it.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { WebSocket } from 'ws';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import {
  agreeOnVersion,
  type Answer,
  answerChallenge,
  type Challenge,
  checkWelcome,
  clusterProblem,
  type Identity,
  type Purpose,
  readChallenge,
  readWelcome,
} from './handshake.ts';
import type { TransportLimits } from './limits.ts';
import { diallerOptions, type PeerCertificates, tlsTrouble } from './peer-tls.ts';

export interface DialOptions {
  /** As it is now: the cluster may become known while a connection is being made. */
  readonly self: () => Identity;
  readonly peer: { readonly id: ReplicaId; readonly host: string; readonly port: number };
  readonly purpose: Purpose;
  readonly limits: TransportLimits;
  /** Null: without TLS. */
  readonly tls: PeerCertificates | null;
}

export interface DialEvents {
  /** Both sides are proved. `cluster`: the one that the peer belongs to, as far as it knows. `version`: of the peers' protocol, that both speak. */
  readonly onUp: (cluster: string | null, version: number) => void;
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

export function dialPeer(
  { self, peer, purpose, limits, tls }: DialOptions,
  events: DialEvents,
): DialledSocket {
  // The host is in no URL: not all hosts can be (fe80::1%eth0), and what is none would be an error that is thrown here, not one of the connection.
  const socket = new WebSocket(`${tls === null ? 'ws' : 'wss'}://peer/peer`, {
    createConnection: connectionTo(peer, tls),
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
      const agreed = agreeOnVersion(self(), challenge);
      if ('reason' in agreed) return fail(agreed.reason);
      const answer = answerChallenge(self(), { to: peer.id, purpose }, challenge, agreed.version);
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
    events.onUp(welcome.cluster, asked.answer.version);
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
    reason = tlsTrouble(error) ?? (error.message || code || 'connection failed');
  });
  socket.on('close', (_code, said) => {
    clearTimeout(handshakeTimer);
    clearInterval(probeTimer);
    up = false;
    events.onEnd(said.length > 0 ? `refused: ${said.toString('utf8')}` : reason, isGone);
  });

  return { socket, isUp: () => up && socket.readyState === WebSocket.OPEN, fail };
}

function connectionTo({ id, host, port }: DialOptions['peer'], tls: PeerCertificates | null): () => Socket {
  return () =>
    tls === null ? connect({ host, port }) : connectTls({ host, port, ...diallerOptions(tls.current(), id) });
}

/** A host of several addresses that could all not be reached has one error for each: its code is that of the first, which may be of a network that is not there. */
export function isRefusal(error: Error): boolean {
  const each = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error];
  return each.some((one) => (one as NodeJS.ErrnoException).code === 'ECONNREFUSED');
}
