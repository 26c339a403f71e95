/** Somebody at the peers' port of a real replica: who knows nothing, and who knows the cluster's secret and sends frames that are none. */
import { WebSocket } from 'ws';
import type { GroupId, ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import {
  agreeOnVersion,
  answerChallenge,
  readChallenge,
  readWelcome,
} from '../../server/src/adapters/ws-transport/handshake.ts';
import { ownVersions } from '../../server/src/adapters/ws-transport/versions.ts';

export interface Intrusion {
  readonly port: number;
  readonly secret: string;
  readonly as: string;
  readonly to: string;
  readonly cluster: string | null;
  readonly purpose?: 'messages' | 'copy';
}

const group = 'main' as GroupId;
const waitMs = 10_000;

/** What the replica said: its welcome, and why it ended the connection. Null: it did not. */
export interface Heard {
  /** The cluster that it is of. */
  readonly cluster: string;
  readonly ended: string | null;
}

/** Proves itself and sends `frames`, each under an envelope to `member`; a text goes as it is. Waits until it is sent away, or `staysMs`. */
export function intrude(
  { port, secret, as, to, cluster, purpose = 'messages' }: Intrusion,
  frames: readonly (Uint8Array | string)[],
  { member = 'r1', staysMs = waitMs } = {},
): Promise<Heard> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/peer`);
  const identity = { group, id: as as ReplicaId, secret, cluster, versions: ownVersions };
  return new Promise((resolve, reject) => {
    let found: string | null = null;
    const finish = (ended: string | null): void => {
      clearTimeout(timer);
      socket.terminate();
      if (found === null) reject(new Error(`${as} was not let in: ${ended}`));
      else resolve({ cluster: found, ended });
    };
    const timer = setTimeout(() => finish(null), staysMs);
    socket.on('error', () => {});
    socket.on('close', (_code, reason) => finish(reason.toString()));
    socket.on('message', (data) => {
      const text = (data as Buffer).toString();
      const challenge = readChallenge(text);
      if (challenge !== null) {
        const agreed = agreeOnVersion(identity, challenge);
        if ('reason' in agreed) return finish(agreed.reason);
        const question = { to: to as ReplicaId, purpose };
        socket.send(JSON.stringify(answerChallenge(identity, question, challenge, agreed.version)));
        return;
      }
      if (found !== null) return;
      found = readWelcome(text)?.cluster ?? '';
      for (const frame of frames) {
        if (typeof frame !== 'string') socket.send(JSON.stringify({ from: as, to: member }));
        socket.send(frame);
      }
    });
  });
}

/** The first text of a replica to whoever comes. */
export function challengeAt(port: number): Promise<string> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/peer`);
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('message', (data) => {
      socket.terminate();
      resolve((data as Buffer).toString());
    });
  });
}

const key = 'dGhlIHNhbXBsZSBub25jZQ==';
const upgrade = `GET /peer HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`;

/** Below WebSockets, of who proves nothing: frames of none, of impossible and of huge lengths, without masks, of unknown kinds. */
export const brokenWebSockets: readonly Buffer[] = [
  'ff',
  '8200',
  '82ff7fffffffffffffff',
  '82ffffffffffffffffff',
  '827fffffffff',
  '0280',
  '83ff',
  '88fe0001',
  `82fe4000${'00'.repeat(4 + 0x1800)}`,
].map((hex) => Buffer.concat([Buffer.from(upgrade), Buffer.from(hex, 'hex')]));
