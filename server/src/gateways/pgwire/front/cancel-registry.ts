/**
 * Brings CancelRequests to the session that they mean, which is found by the key that PostgreSQL gave to its client.
 *
 * A cancel reaches PostgreSQL only while the session is owed an answer. That it may end the wait of a COMMIT is not prevented here: the answers of all sessions are held back
 * then (ClientService.mayAnswer). Bounded: so many deliveries at the same time; cancels beyond that are dropped, as PostgreSQL does not answer for them either.
 */
import { connect, type Socket } from 'node:net';
import { cancelForBackend, cancelForLeader } from '../codec/startup.ts';
import { askForTls } from '../tls/connect-tls.ts';

interface Target {
  readonly socketPath: string;
  readonly isOwed: () => boolean;
}

const deliveryTimeoutMs = 5_000;

export class CancelRegistry {
  private readonly underWayMax: number;
  private readonly targets = new Map<string, Target>();
  private underWay = 0;

  constructor(underWayMax: number) {
    this.underWayMax = underWayMax;
  }

  /** Returns the way to remove it. */
  add(key: Buffer, target: Target): () => void {
    const name = key.toString('hex');
    this.targets.set(name, target);
    return () => {
      if (this.targets.get(name) === target) this.targets.delete(name);
    };
  }

  /** True if the session is one of ours. */
  cancel(key: Buffer): boolean {
    const target = this.targets.get(key.toString('hex'));
    if (target === undefined) return false;
    if (target.isOwed()) this.deliver({ path: target.socketPath }, cancelForBackend(key));
    return true;
  }

  /** `encrypts`: the leader's gateway is asked for TLS. */
  forward(
    { host, port }: { readonly host: string; readonly port: number },
    key: Buffer,
    encrypts: boolean,
  ): void {
    this.deliver({ host, port }, cancelForLeader(key), encrypts);
  }

  private deliver(
    to: { path: string } | { host: string; port: number },
    packet: Buffer,
    encrypts = false,
  ): void {
    if (this.underWay >= this.underWayMax) return;
    this.underWay += 1;
    const socket = connect(to);
    socket.setTimeout(deliveryTimeoutMs, () => socket.destroy());
    socket.on('error', () => {});
    socket.on('close', () => {
      this.underWay -= 1;
    });
    const send = (on: Socket): void => {
      // The other end closes the connection when it has taken the cancel.
      on.resume();
      on.write(packet);
    };
    if (!encrypts) send(socket);
    else
      askForTls(socket).then(
        (secured) => send(secured?.socket ?? socket),
        () => socket.destroy(),
      );
  }
}
