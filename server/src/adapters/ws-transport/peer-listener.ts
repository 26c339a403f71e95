/**
 * The peers' port: takes the connections that peers dial, has them prove that they know the secret, and hands on their frames.
 *
 * Responsible for: admission and its bounds. Does not decode frames and never sends one.
 * Invariants: no frame of a connection that has not proved itself is handed on; such a connection is closed after a few
 * kilobytes or seconds; of one peer only the newest connection counts.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ReplicaId } from '../../multipaxos/types.ts';
import {
  checkAnswer,
  handshakeBytesMax,
  type Identity,
  newNonce,
  protocolVersion,
  readAnswer,
  welcome,
} from './handshake.ts';
import type { TransportLimits } from './limits.ts';

export interface PeerListener {
  readonly port: number;
  close(): Promise<void>;
}

export interface ListenerOptions {
  readonly self: Identity;
  readonly members: ReadonlySet<string>;
  readonly listen: { readonly host: string; readonly port: number };
  readonly limits: TransportLimits;
  /** Throws if the frame is malformed: that connection is then closed, and no other. */
  readonly onFrame: (from: ReplicaId, frame: Uint8Array) => void;
  readonly onRefused: (address: string, reason: string) => void;
}

/** RFC 6455: the sender broke the rules of the protocol. */
const policyViolation = 1008;

/** @throws if the address cannot be listened on (code EADDRINUSE and the like) */
export async function openPeerListener(options: ListenerOptions): Promise<PeerListener> {
  const { limits, listen } = options;
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: limits.frameBytesMax,
  });
  const newest = new Map<ReplicaId, WebSocket>();
  let unproved = 0;

  const server = createServer((_request, response) => {
    response.writeHead(426, { connection: 'close' }).end();
  });
  server.headersTimeout = limits.handshakeMs;
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on('error', () => stream.destroy());
    if (request.url !== '/peer' || unproved >= limits.unprovedMax) {
      stream.destroy();
      return;
    }
    unproved += 1;
    let counted = true;
    const uncount = (): void => {
      if (counted) unproved -= 1;
      counted = false;
    };
    stream.once('close', uncount);
    sockets.handleUpgrade(request, stream, head, (socket) => {
      admit(options, { socket, stream, address: request.socket.remoteAddress ?? '?' }, (peer) => {
        uncount();
        newest.get(peer)?.terminate();
        newest.set(peer, socket);
        socket.once('close', () => {
          if (newest.get(peer) === socket) newest.delete(peer);
        });
      });
    });
  });
  await startListening(server, listen);
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : listen.port,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets.clients) socket.terminate();
        sockets.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Arrival {
  readonly socket: WebSocket;
  readonly stream: Duplex;
  readonly address: string;
}

/** Runs the listener's side of the handshake, calls `onProved` if it succeeds, and hands on frames from then. */
function admit(options: ListenerOptions, arrival: Arrival, onProved: (peer: ReplicaId) => void): void {
  const { self, limits } = options;
  const { socket, stream, address } = arrival;
  const nonce = newNonce();
  let peer: ReplicaId | null = null;
  let unprovedBytes = 0;

  const refuse = (reason: string): void => {
    options.onRefused(peer ?? address, reason);
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
    const verdict = checkAnswer(self, options.members, nonce, answer);
    if (verdict.code === 'refused') return refuse(verdict.reason);
    peer = verdict.peer;
    clearTimeout(timer);
    stream.off('data', count);
    onProved(peer);
    socket.send(JSON.stringify(welcome(self, nonce, answer)));
  };

  socket.on('message', (data, isBinary) => {
    if (socket.readyState !== socket.OPEN) return;
    if (peer === null) {
      if (isBinary) refuse('spoke before answering the challenge');
      else prove((data as Buffer).toString('utf8'));
      return;
    }
    if (!isBinary) return refuse('sent text where a message belongs');
    try {
      options.onFrame(peer, data as Buffer);
    } catch (error) {
      refuse(`malformed frame: ${(error as Error).message}`);
    }
  });
  socket.on('error', (error) => options.onRefused(peer ?? address, error.message));
  socket.on('close', () => clearTimeout(timer));
  socket.send(JSON.stringify({ version: protocolVersion, nonce }));
}

function startListening(server: Server, listen: ListenerOptions['listen']): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: listen.host, port: listen.port, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
