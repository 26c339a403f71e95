/** A connection from its first byte to what it wants: in the clear, or behind TLS. */
import type { Socket } from 'node:net';
import type { FirstPacket } from '../codec/startup.ts';
import { type ClientLink, plainLink } from '../login/client-link.ts';
import type { ClientTls } from '../tls/client-tls.ts';
import type { VouchedLinks } from './vouched-links.ts';
import { awaitFirstPacket } from './first-packet.ts';

export interface Opened {
  readonly client: Socket;
  readonly link: ClientLink;
  /** Of the certificate that the other end was shown; empty: none. */
  readonly fingerprint: Buffer;
  readonly wants: Exclude<FirstPacket, { kind: 'ssl' | 'gss' }>;
}

/**
 * Null: it has gone, or is being closed without a word. `onSocket`: what there is to speak on from now on; null: nothing, while encryption is being agreed on.
 * @throws ProtocolViolation, which is to be told on the socket that there is
 */
export async function openConnection(
  raw: Socket,
  tls: ClientTls | null,
  vouched: VouchedLinks,
  onSocket: (socket: Socket | null) => void,
): Promise<Opened | null> {
  const plain = plainLink(raw);
  const first = await awaitFirstPacket(raw, tls === null ? 'declined' : 'offered');
  if (first === null) return gone(raw);
  const link = vouched.take(raw) ?? plain;
  if (first.kind !== 'encrypt') return { client: raw, link, fingerprint: Buffer.alloc(0), wants: first };
  onSocket(null);
  const encrypted = (await tls?.accept(raw)) ?? null;
  if (encrypted === null) return gone(raw);
  const { socket, encryption, fingerprint, namesProtocol } = encrypted;
  socket.on('error', () => socket.destroy());
  if (first.atOnce && !namesProtocol) return gone(socket);
  onSocket(socket);
  const wants = await awaitFirstPacket(socket, 'done');
  if (wants === null || wants.kind === 'encrypt') return gone(socket);
  return { client: socket, link: { ...link, encryption }, fingerprint, wants };
}

function gone(socket: Socket): null {
  socket.destroy();
  return null;
}
