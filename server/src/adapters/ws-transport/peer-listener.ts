/**
 * The peers' port: takes the connections that peers dial, has them prove that they know the secret, and hands on their frames.
 *
 * Responsible for: admission and its bounds. Does not decode frames; sends them only to guests, whom nobody dials.
 * Invariants: with TLS, nobody is let in whose certificate does not name it; no frame of a connection that has not proved itself is handed on; such a connection is closed after a few
 * kilobytes or seconds; of one peer only the newest connection for messages counts.
 */
import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { type Envelope, envelopeReader, envelopeWriter } from './envelope.ts';
import {
  type Admitted,
  checkAnswer,
  handshakeBytesMax,
  type Identity,
  newChallenge,
  readAnswer,
  welcome,
} from './handshake.ts';
import type { TransportLimits } from './limits.ts';
import { openPeerServer } from './peer-server.ts';
import { isNamed, notNamed, type PeerTls } from './peer-tls.ts';

export interface PeerListener {
  readonly port: number;
  /** Of the peers' protocol, that is spoken with a guest that is connected; null if it is not. */
  guestVersion(guest: ReplicaId): number | null;
  /** Sends to a guest that is connected. False if it is not, or too much waits already. */
  sendToGuest(to: ReplicaId, envelope: Envelope, frame: Uint8Array): boolean;
  /** Ends the connections of those that `stays` is false for; they may come back. */
  keepOnly(stays: (admitted: Admitted) => boolean): void;
  close(): Promise<void>;
}

export interface ListenerOptions {
  /** As they are now: both change while the listener lives. */
  readonly self: () => Identity;
  readonly members: () => ReadonlySet<string>;
  readonly listen: { readonly host: string; readonly port: number };
  readonly limits: TransportLimits;
  /** Null: without TLS. */
  readonly tls: PeerTls | null;
  /** Throws if the frame is malformed: that connection is then closed, and no other. */
  readonly onFrame: (admitted: Admitted, envelope: Envelope, frame: Uint8Array) => void;
  /** A peer that has proved itself wants to copy this replica's database over this connection. */
  readonly onCopy: (peer: ReplicaId, socket: WebSocket) => void;
  readonly onRefused: (address: string, reason: string) => void;
}

/** RFC 6455: the sender broke the rules of the protocol. */
const policyViolation = 1008;

interface Proved {
  readonly admitted: Admitted;
  readonly socket: WebSocket;
  readonly write: (envelope: Envelope, frame: Uint8Array) => void;
}

/** @throws if the address cannot be listened on (code EADDRINUSE and the like) */
export async function openPeerListener(options: ListenerOptions): Promise<PeerListener> {
  const { limits, listen } = options;
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: limits.frameBytesMax,
  });
  const newest = new Map<ReplicaId, Proved>();
  /** The oldest first. */
  const unproved = new Set<Duplex>();

  const guests = (): number => [...newest.values()].filter(({ admitted }) => admitted.guest).length;
  const guestAt = (name: ReplicaId): Proved | null => {
    const proved = newest.get(name);
    const isThere = proved?.admitted.guest === true && proved.socket.readyState === proved.socket.OPEN;
    return isThere ? proved : null;
  };
  const register = (admitted: Admitted, socket: WebSocket): void => {
    const { peer } = admitted;
    newest.get(peer)?.socket.terminate();
    newest.set(peer, { admitted, socket, write: envelopeWriter(socket) });
    socket.once('close', () => {
      if (newest.get(peer)?.socket === socket) newest.delete(peer);
    });
  };
  const onUpgrade = (request: IncomingMessage, stream: Duplex, head: Buffer): void => {
    stream.on('error', () => stream.destroy());
    if (request.url !== '/peer') {
      stream.destroy();
      return;
    }
    unproved.add(stream);
    const uncount = (): void => void unproved.delete(stream);
    stream.once('close', uncount);
    // Whoever says nothing is not to keep out one who can prove itself.
    const [oldest] = unproved;
    if (oldest !== undefined && unproved.size > limits.unprovedMax) {
      unproved.delete(oldest);
      oldest.destroy();
    }
    sockets.handleUpgrade(request, stream, head, (socket) => {
      const arrival = { socket, stream, address: request.socket.remoteAddress ?? '?' };
      admit(options, arrival, (admitted) => {
        uncount();
        if (admitted.guest && !newest.has(admitted.peer) && guests() >= limits.guestsMax)
          return 'too many replicas that are no members';
        if (admitted.purpose === 'messages') register(admitted, socket);
        return null;
      });
    });
  };
  const { tls, onRefused } = options;
  const { server, close } = openPeerServer({ tls, limits, onUpgrade, onRefused });
  await startListening(server, listen);
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : listen.port,
    guestVersion: (guest) => guestAt(guest)?.admitted.version ?? null,
    sendToGuest(to, envelope, frame) {
      const proved = guestAt(to);
      if (proved === null) return false;
      if (proved.socket.bufferedAmount + frame.byteLength > limits.queueBytesMax) return false;
      proved.write(envelope, frame);
      return true;
    },
    keepOnly(stays) {
      for (const { admitted, socket } of newest.values()) if (!stays(admitted)) socket.terminate();
    },
    close: () => {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      return close();
    },
  };
}

interface Arrival {
  readonly socket: WebSocket;
  readonly stream: Duplex;
  readonly address: string;
}

/** Why one who has proved itself is turned away all the same, or null. */
type OnProved = (admitted: Admitted) => string | null;

/** Runs the listener's side of the handshake, calls `onProved` if it succeeds, and hands on frames from then. */
function admit(options: ListenerOptions, arrival: Arrival, onProved: OnProved): void {
  const { limits } = options;
  const { socket, stream, address } = arrival;
  const challenge = newChallenge(options.self());
  const { nonce } = challenge;
  let admitted: Admitted | null = null;
  let unprovedBytes = 0;
  const who = (): string => admitted?.peer ?? address;

  const refuse = (reason: string): void => {
    options.onRefused(who(), reason);
    socket.close(policyViolation, reason.slice(0, 120));
    // A close handshake with a stranger may take for ever.
    setTimeout(() => socket.terminate(), 100).unref();
  };
  const timer = setTimeout(() => {
    options.onRefused(address, 'did not answer the challenge');
    socket.terminate();
  }, limits.handshakeMs);
  // Frames are buffered whole before anyone sees them, so count what a stranger sends as it comes.
  const count = (chunk: Buffer): void => {
    unprovedBytes += chunk.byteLength;
    if (unprovedBytes > handshakeBytesMax * 2) stream.destroy();
  };
  stream.on('data', count);

  const prove = (text: string): void => {
    const answer = readAnswer(text);
    if (answer === null) return refuse('malformed answer to the challenge');
    const self = options.self();
    const verdict = checkAnswer(self, options.members(), nonce, answer);
    if (verdict.code === 'refused') return refuse(verdict.reason);
    const { tls } = options;
    const isPlain = tls?.required === false && !(stream instanceof TLSSocket);
    if (tls !== null && !isPlain && !showsName(stream, verdict.peer)) return refuse(notNamed(verdict.peer));
    admitted = verdict;
    clearTimeout(timer);
    stream.off('data', count);
    const problem = onProved(verdict);
    if (problem !== null) return refuse(problem);
    socket.send(JSON.stringify(welcome(self, nonce, answer)));
    if (verdict.purpose === 'copy') {
      socket.off('message', onFrameOrText);
      options.onCopy(verdict.peer, socket);
    } else handOnFrames(options, verdict, socket, refuse);
  };
  const onFrameOrText = (data: unknown, isBinary: boolean): void => {
    if (socket.readyState !== socket.OPEN || admitted !== null) return;
    if (isBinary) refuse('spoke before answering the challenge');
    else prove((data as Buffer).toString('utf8'));
  };
  socket.on('message', onFrameOrText);
  socket.on('error', (error) => options.onRefused(who(), error.message));
  socket.on('close', () => clearTimeout(timer));
  socket.send(JSON.stringify(challenge));
}

/** From when it has proved itself. */
function handOnFrames(
  options: ListenerOptions,
  admitted: Admitted,
  socket: WebSocket,
  refuse: (reason: string) => void,
): void {
  const reader = envelopeReader(admitted.peer);
  socket.removeAllListeners('message');
  socket.on('message', (data, isBinary) => {
    if (socket.readyState !== socket.OPEN) return;
    try {
      if (isBinary) options.onFrame(admitted, reader.current(), data as Buffer);
      else reader.text((data as Buffer).toString('utf8'));
    } catch (error) {
      refuse(`malformed frame: ${(error as Error).message}`);
    }
  });
}

function showsName(stream: Duplex, peer: ReplicaId): boolean {
  const certificate = stream instanceof TLSSocket ? stream.getPeerX509Certificate() : undefined;
  return certificate !== undefined && isNamed(certificate, peer);
}

/** As at the clients' doors (gateways/listen.ts): strangers that come all at once keep no replica out. */
const backlog = 4_096;

function startListening(server: Server, listen: ListenerOptions['listen']): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: listen.host, port: listen.port, exclusive: true, backlog }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
