/**
 * Brings CancelRequests to the session that they mean, which is found by the key that PostgreSQL gave to its client.
 *
 * A cancel reaches PostgreSQL only while the session is owed an answer, and at a leader not while it commits (cancel-session.ts). Whoever asked is told when it is delivered: as with PostgreSQL, its connection ends no sooner, so that a cancel which was waited for strikes nothing
 * that is asked afterwards. Bounded: so many deliveries at the same time; cancels beyond that are dropped, as PostgreSQL does not answer for them either.
 */
import { connect, type Socket } from 'node:net';
import { cancelForBackend, cancelForLeader } from '../codec/startup.ts';
import { askForTls } from '../tls/connect-tls.ts';

interface Target {
  /** The socket of its PostgreSQL, or another way to cancel. */
  readonly way: string | (() => Promise<void>);
  readonly isOwed: () => boolean;
}

/** Its present key, and the leader that knows it; null: this replica. */
interface Moved {
  readonly key: Buffer;
  readonly leader: { readonly host: string; readonly port: number } | null;
}

const deliveryTimeoutMs = 5_000;

export class CancelRegistry {
  private readonly underWayMax: number;
  private readonly targets = new Map<string, Target>();
  private readonly moving = new Map<string, () => Moved | null>();
  private readonly calls = new Map<string, () => void>();
  private underWay = 0;

  private readonly encrypts: boolean;

  /** `encrypts`: the leader's gateway is asked for TLS. */
  constructor(underWayMax: number, encrypts: boolean) {
    this.underWayMax = underWayMax;
    this.encrypts = encrypts;
  }

  /** Returns the way to remove it. */
  add(key: Buffer, target: Target): () => void {
    const name = key.toString('hex');
    this.targets.set(name, target);
    return () => {
      if (this.targets.get(name) === target) this.targets.delete(name);
    };
  }

  /** Null: the session is none of ours. Otherwise fulfilled when the cancel is delivered, or given up. */
  cancel(key: Buffer): Promise<void> | null {
    const call = this.calls.get(key.toString('hex'));
    if (call !== undefined) {
      call();
      return Promise.resolve();
    }
    const moved = this.moving.get(key.toString('hex'))?.() ?? null;
    if (moved !== null) {
      if (moved.leader === null) return this.cancelHere(moved.key);
      return this.forward(moved.leader, moved.key);
    }
    return this.cancelHere(key);
  }

  /** Of a session that PostgreSQL knows by no key of its client's. Returns the way to remove it. */
  addCall(key: Buffer, call: () => void): () => void {
    const name = key.toString('hex');
    this.calls.set(name, call);
    return () => this.calls.delete(name);
  }

  private cancelHere(key: Buffer): Promise<void> | null {
    const target = this.targets.get(key.toString('hex'));
    if (target === undefined) return null;
    if (!target.isOwed()) return Promise.resolve();
    const { way } = target;
    return typeof way === 'string' ? this.deliver({ path: way }, cancelForBackend(key)) : this.call(way);
  }

  private async call(way: () => Promise<void>): Promise<void> {
    if (this.underWay >= this.underWayMax) return;
    this.underWay += 1;
    await way();
    this.underWay -= 1;
  }

  /** The key of a client that may have moved: it is a client of ours by another key then. Returns the way to remove it. */
  addMoving(key: Buffer, current: () => Moved | null): () => void {
    const name = key.toString('hex');
    this.moving.set(name, current);
    return () => {
      if (this.moving.get(name) === current) this.moving.delete(name);
    };
  }

  forward(leader: { readonly host: string; readonly port: number }, key: Buffer): Promise<void> {
    return this.deliver({ host: leader.host, port: leader.port }, cancelForLeader(key), this.encrypts);
  }

  private deliver(
    to: { path: string } | { host: string; port: number },
    packet: Buffer,
    encrypts = false,
  ): Promise<void> {
    if (this.underWay >= this.underWayMax) return Promise.resolve();
    this.underWay += 1;
    const socket = connect(to);
    socket.setTimeout(deliveryTimeoutMs, () => socket.destroy());
    socket.on('error', () => {});
    const delivered = new Promise<void>((resolve) => {
      socket.on('close', () => {
        this.underWay -= 1;
        resolve();
      });
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
    return delivered;
  }
}
