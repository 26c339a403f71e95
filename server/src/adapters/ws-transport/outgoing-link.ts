/**
 * The connection that this replica dials to one peer, over which all its messages to that peer go.
 *
 * Responsible for: dialling again with growing waits, and the bound on what waits to be sent. What the peer sends comes over the connection
 * that the peer dialled; only a replica that was removed, which nobody dials, is answered over this one.
 * Invariant: `send` never throws and never blocks; what cannot be queued is dropped.
 */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { type DialledSocket, type DialOptions, dialPeer } from './dial.ts';
import { type Envelope, envelopeReader, envelopeWriter } from './envelope.ts';
import { type PeerCertificates, type PeerTls, speaksPlain } from './peer-tls.ts';

export interface OutgoingLink {
  readonly peer: ReplicaId;
  readonly host: string;
  readonly port: number;
  /** False if the frame was dropped. */
  send(envelope: Envelope, frame: Uint8Array): boolean;
  isUp(): boolean;
  /** Of the peers' protocol, that is spoken with it; null while it is away. */
  version(): number | null;
  /** Dials again unless the peer said that it is of this cluster. */
  keepIfOf(cluster: string): void;
  /** With which the peer is spoken to now; null: without TLS. */
  certificates(): PeerCertificates | null;
  /** Ends the connection, if there is one, and dials again. */
  renew(reason: string): void;
  close(): void;
}

interface LinkOptions extends Omit<DialOptions, 'purpose' | 'tls'> {
  /** Null: without TLS. */
  readonly tls: PeerTls | null;
  /** Throws if the frame is malformed: the connection is then closed. */
  readonly onFrame: (envelope: Envelope, frame: Uint8Array) => void;
  /** `reason` says why it went down, or why it could not come up; only told when it changes. */
  readonly onChange: (up: boolean, reason: string) => void;
  /** Its host says that nobody listens there any more. Once, until it has been up again. */
  readonly onGone: () => void;
}

export function openOutgoingLink(options: LinkOptions): OutgoingLink {
  const { limits, peer } = options;
  let attempt: Attempt | null = null;
  let retry: NodeJS.Timeout | null = null;
  let failures = 0;
  let lastReason = '';
  let mayBeGone = false;
  let closed = false;
  let certificates = options.tls?.certificates ?? null;

  const dial = (): void => {
    retry = null;
    attempt = startAttempt({ ...options, tls: certificates }, { onUp, onEnd });
  };
  const onUp = (): void => {
    failures = 0;
    lastReason = '';
    mayBeGone = true;
    options.onChange(true, 'connected');
  };
  const onEnd = (wasUp: boolean, reason: string, isGone: boolean): void => {
    attempt = null;
    if (closed) return;
    // Once without, if that is allowed; and each time that ends, with it again.
    const goesPlain = options.tls?.required === false && reason === speaksPlain;
    certificates = goesPlain ? null : (options.tls?.certificates ?? null);
    if (isGone && mayBeGone) {
      mayBeGone = false;
      options.onGone();
    }
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
    host: peer.host,
    port: peer.port,
    send: (envelope, frame) => attempt?.send(envelope, frame) ?? false,
    isUp: () => attempt?.dialled.isUp() ?? false,
    version: () => (attempt?.dialled.isUp() === true ? attempt.version() : null),
    keepIfOf(cluster) {
      if (attempt !== null && attempt.dialled.isUp() && attempt.cluster() !== cluster)
        attempt.dialled.fail('which cluster this is has become known');
    },
    certificates: () => certificates,
    renew: (reason) => attempt?.dialled.fail(reason),
    close: () => {
      closed = true;
      if (retry !== null) clearTimeout(retry);
      attempt?.dialled.socket.terminate();
    },
  };
}

interface Attempt {
  readonly dialled: DialledSocket;
  cluster(): string | null;
  version(): number | null;
  send(envelope: Envelope, frame: Uint8Array): boolean;
}

interface AttemptEvents {
  readonly onUp: () => void;
  readonly onEnd: (wasUp: boolean, reason: string, isGone: boolean) => void;
}

/** One life of the connection. */
function startAttempt(
  options: Omit<LinkOptions, 'tls'> & Pick<DialOptions, 'tls'>,
  events: AttemptEvents,
): Attempt {
  const { limits } = options;
  const reader = envelopeReader(options.peer.id);
  let wasUp = false;
  let cluster: string | null = null;
  let version: number | null = null;
  const orFail = (read: () => void): void => {
    try {
      read();
    } catch (error) {
      dialled.fail(`sent a malformed frame: ${(error as Error).message}`);
    }
  };
  const dialled = dialPeer(
    { ...options, purpose: 'messages' },
    {
      onUp: (told, agreed) => {
        wasUp = true;
        cluster = told;
        version = agreed;
        events.onUp();
      },
      onText: (text) => orFail(() => reader.text(text)),
      onBinary: (data) => orFail(() => options.onFrame(reader.current(), data)),
      onEnd: (reason, isGone) => events.onEnd(wasUp, reason, isGone),
    },
  );
  const write = envelopeWriter(dialled.socket);
  const gather = oneWriteATurn(dialled.socket);
  return {
    dialled,
    cluster: () => cluster,
    version: () => version,
    send(envelope, frame) {
      if (!dialled.isUp()) return false;
      if (dialled.socket.bufferedAmount + frame.byteLength > limits.queueBytesMax) return false;
      gather();
      write(envelope, frame);
      return true;
    },
  };
}

/** To be called before something is written: all that this turn writes leaves with one call of the system. */
function oneWriteATurn(socket: WebSocket): () => void {
  let raw: Duplex | null = null;
  let corked = false;
  socket.once('upgrade', (response) => {
    raw = response.socket;
  });
  return () => {
    if (raw === null || corked) return;
    corked = true;
    raw.cork();
    process.nextTick(() => {
      corked = false;
      raw?.uncork();
    });
  };
}
