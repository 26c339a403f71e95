/**
 * Logs in at the leader's gateway on behalf of a client that has come to this one. (A session of this replica's own PostgreSQL needs no more than its startup packet: front/sessions.ts.)
 *
 * Responsible for: the connection up to the point from which all that comes is for the client, and nothing that the client has sent was passed on but its startup packet. Needs no password of the client: this gateway
 * proves that it knows the cluster's secret, and says who the client is.
 * Invariant: what is refused by the leader's gateway, or by PostgreSQL, is not judged here: it comes as an ErrorResponse, like all that PostgreSQL says.
 */
import { connect, type Socket } from 'node:net';
import { headerBytes } from '../../../pgwire/frame-splitter.ts';
import { back } from '../../../pgwire/message-types.ts';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';
import {
  readTunnelChallenge,
  type StartupMessage,
  startupForBackend,
  startupForTunnel,
  tunnelAnswer,
} from '../codec/startup.ts';
import { askForTls } from '../tls/connect-tls.ts';
import type { ClientLink } from './client-link.ts';
import { readMessage } from './read-message.ts';
import { answerOf, drawNonce, readChallenge } from './tunnel-proof.ts';

/** Who is to be logged in. */
export interface UpstreamLogin {
  /** Role, database and settings; plain (`plainStartup`). */
  readonly startup: StartupMessage;
  /** How the client is connected to this gateway. */
  readonly link: ClientLink;
  /** This gateway, or a leader before, has made sure who the client is. False: the leader's gateway asks the client for its password, through this one. */
  readonly isProven: boolean;
}

export interface UpstreamOptions {
  /** Of the cluster, for what gateways prove to each other. */
  readonly tunnelKey: Buffer;
  /** The leader's gateway is asked for TLS. */
  readonly encrypts: boolean;
  /** Aborted: nobody wants it any more. */
  readonly signal?: AbortSignal;
}

/**
 * `open`: the socket is paused, and what it says next is for the client: AuthenticationOk (or, where the client is not authenticated, what comes before it), settings, the key for cancelling, ReadyForQuery; or
 * an error. `failed`: nobody is there, or nobody of this cluster.
 */
export type Upstream =
  | { readonly code: 'open'; readonly socket: Socket }
  | { readonly code: 'failed'; readonly reason: string };

/** What the other machine drops, since many come to it at once, is sent again after 1 s, 3 s and 7 s: whoever is in need of the connection begins anew sooner. */
const connectTimeoutMs = 1_000;
const loginTimeoutMs = 5_000;
/** An error of the leader's gateway. */
const errorBytesMax = 16_384;

/** Never rejects. */
export async function openUpstream(
  leader: { readonly host: string; readonly port: number },
  login: UpstreamLogin,
  options: UpstreamOptions,
): Promise<Upstream> {
  const socket = connect({ host: leader.host, port: leader.port, noDelay: true });
  const { signal } = options;
  const giveUp = (): void => void socket.destroy();
  // What is wrong shows in that the connection closes.
  socket.on('error', () => {});
  socket.setTimeout(connectTimeoutMs, giveUp);
  signal?.addEventListener('abort', giveUp, { once: true });
  if (signal?.aborted === true) giveUp();
  try {
    if (!(await isConnected(socket))) return failed(socket, 'it refuses connections, or does not answer');
    socket.setTimeout(loginTimeoutMs);
    const greeted = await greet(login, options, socket);
    if (typeof greeted === 'string') return failed(socket, greeted);
    greeted.pause();
    return { code: 'open', socket: greeted };
  } catch (error) {
    return failed(socket, error instanceof Error ? error.message : String(error));
  } finally {
    signal?.removeEventListener('abort', giveUp);
    socket.setTimeout(0).off('timeout', giveUp);
  }
}

function isConnected(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve(false);
    socket.once('connect', () => resolve(true)).once('close', () => resolve(false));
  });
}

function failed(socket: Socket, reason: string): Upstream {
  socket.destroy();
  return { code: 'failed', reason };
}

/** What to speak on, where it is logged in, or refused in words for the client; or why not. @throws Error */
async function greet(
  { startup, link, isProven }: UpstreamLogin,
  { tunnelKey, encrypts }: UpstreamOptions,
  raw: Socket,
): Promise<Socket | string> {
  const secured = encrypts ? await askForTls(raw) : null;
  const socket = secured?.socket ?? raw;
  const fingerprint = secured?.fingerprint ?? Buffer.alloc(0);
  const followerNonce = drawNonce();
  socket.write(startupForTunnel(startup, followerNonce));
  const message = await readMessage(socket, (type) => {
    if (type === back.authentication || type === back.errorResponse) return errorBytesMax;
    throw new ProtocolViolation('the server there is not a Barista gateway of this version');
  });
  if (message === null) return 'it has closed the connection';
  if (message[0] === back.errorResponse) {
    socket.unshift(message);
    return socket;
  }
  const asked = readTunnelChallenge(message.subarray(headerBytes));
  if (asked === null) return 'the server there is not a Barista gateway of this version';
  const context = { key: tunnelKey, startup: startupForBackend(startup), followerNonce, fingerprint };
  const challenge = readChallenge(context, asked);
  if (challenge === null) {
    return 'the server there does not know the cluster secret, or a proxy in between has another certificate';
  }
  if (encrypts && secured === null && challenge.offersTls) return 'a proxy in between prevents encryption';
  socket.write(tunnelAnswer(answerOf(context, challenge.leaderNonce, { link, isProven })));
  return socket;
}
