/** Whoever comes to the peers port by hand, honestly or not, for tests: a connection, the proof of who one is, and a single frame. */
import { WebSocket } from 'ws';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import { agreeOnVersion, answerChallenge, readChallenge } from '../handshake.ts';
import { ownVersions } from '../versions.ts';
import { group, onEnd, secret } from './transports.ts';

/** Why the connection was closed, and what was said until then. */
export interface Told {
  readonly reason: string;
  readonly texts: readonly string[];
}

/** Opens a connection as a stranger and returns what it is told until it is closed. */
export async function stranger(
  port: number,
  script: (socket: WebSocket, text: string) => void,
): Promise<Told> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/peer`);
  const texts: string[] = [];
  socket.on('error', () => {});
  socket.on('message', (data) => {
    const text = (data as Buffer).toString();
    texts.push(text);
    script(socket, text);
  });
  const closed = new Promise<Told>((resolve) => {
    socket.on('close', (_code, reason) => resolve({ reason: reason.toString(), texts }));
  });
  onEnd(() => socket.terminate());
  return closed;
}

/** Proves itself to `port` as `id`, with the true secret unless told otherwise. */
export async function proven(
  port: number,
  id: ReplicaId,
  to: ReplicaId,
  opened: (socket: WebSocket) => void,
  { known = secret, of = null as string | null, versions = ownVersions } = {},
): Promise<Told> {
  let answered = false;
  return stranger(port, (socket, text) => {
    const challenge = readChallenge(text);
    if (answered || challenge === null) return opened(socket);
    answered = true;
    const identity = { group, id, secret: known, cluster: of, versions };
    const agreed = agreeOnVersion(identity, challenge);
    if ('reason' in agreed) throw new Error(agreed.reason);
    const question = { to, purpose: 'messages' } as const;
    socket.send(JSON.stringify(answerChallenge(identity, question, challenge, agreed.version)));
  });
}

/** Sends a frame under an envelope, as a peer does. */
export function sendRaw(socket: WebSocket, from: string, to: string | null, frame: Uint8Array): void {
  socket.send(JSON.stringify({ from, to }));
  socket.send(frame);
}
