/**
 * One log on a real ZooKeeper, with the network between under the test's control.
 *
 * Responsible for: cutting connections, as the death of a process or a broken network does, and a quota that makes ZooKeeper "full".
 */
import { connect, type Socket } from 'node:net';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import type { LogStore, NewLog } from '../../../ports/log-store.ts';
import { group } from '../../../ports/testing/log-store-contract.ts';
import { codeOf, create, multi } from '../client/protocol.ts';
import { startSession, type ZooKeeperSession } from '../client/session.ts';
import { createZooKeeperLog, openZooKeeperLog, type ZooKeeperLogOptions } from '../zookeeper-log.ts';

export const SESSION_TIMEOUT_MS = 1000;

/** A network that can be cut. */
export interface Network {
  readonly dial: (host: string, port: number) => Socket;
  /** Breaks all connections, once. */
  readonly breakAll: () => void;
  /** While cut, no connection is made either. */
  readonly cut: (isCut: boolean) => void;
  /** Called with what each connection sends, before it goes out; false drops the connection instead. */
  onWrite: ((bytes: Uint8Array) => boolean) | null;
}

export function createNetwork(): Network {
  const sockets = new Set<Socket>();
  let isCut = false;
  const network: Network = {
    onWrite: null,
    dial(host, port) {
      const socket = connect({ host, port, noDelay: true });
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      if (isCut) socket.destroy(new Error('the network is cut'));
      const write = socket.write.bind(socket);
      socket.write = (bytes: Uint8Array) => {
        if (network.onWrite === null || network.onWrite(bytes)) return write(bytes);
        socket.destroy(new Error('the network is cut'));
        return false;
      };
      return socket;
    },
    breakAll() {
      for (const socket of sockets) socket.destroy(new Error('the network is cut'));
    },
    cut(value) {
      isCut = value;
      if (isCut) network.breakAll();
    },
  };
  return network;
}

/** A session of the test's own. */
export async function withSession<T>(
  server: string,
  act: (session: ZooKeeperSession) => Promise<T>,
): Promise<T> {
  const session = startSession({ servers: [server], sessionTimeoutMs: 10_000 });
  try {
    await session.whenConnected(10_000);
    return await act(session);
  } finally {
    await session.close();
  }
}

/** Sets how many bytes nodes below `root` may hold. */
export function setQuota(server: string, root: string, bytesMax: number): Promise<void> {
  return withSession(server, async (session) => {
    const quota = `/zookeeper/quota${root}`;
    const parts = quota.split('/').slice(3);
    for (let i = 1; i <= parts.length; i++) {
      const path = `/zookeeper/quota/${parts.slice(0, i).join('/')}`;
      await session.request(create(path, new Uint8Array())).catch(ignoreExisting);
    }
    const limits = Buffer.from(`count=-1,bytes=-1=;byteHardLimit=${bytesMax};countHardLimit=-1`);
    const path = `${quota}/zookeeper_limits`;
    await session
      .request(create(`${quota}/zookeeper_stats`, Buffer.from('count=0,bytes=0')))
      .catch(ignoreExisting);
    await session.request(create(path, limits)).catch(ignoreExisting);
    const failure = await session.request(multi([{ kind: 'set', path, data: limits, version: -1 }]));
    if (failure !== null) throw failure.error;
  });
}

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== 'nodeExists') throw error;
}

let roots = 0;

export interface LogFixture {
  readonly root: string;
  /** Of the opening that comes next. */
  network: Network;
  readonly options: (more?: Partial<ZooKeeperLogOptions>) => ZooKeeperLogOptions;
  readonly create: (newLog: NewLog, more?: Partial<ZooKeeperLogOptions>) => Promise<LogStore>;
  readonly open: (more?: Partial<ZooKeeperLogOptions>) => Promise<LogStore>;
  /** The process that has the log open dies. */
  readonly crash: () => void;
}

export function createLogFixture(server: string): LogFixture {
  const root = `/test-${process.pid}-${++roots}`;
  const fixture: LogFixture = {
    root,
    network: createNetwork(),
    options: (more) => ({
      group,
      replica: 'r2' as ReplicaId,
      servers: [server],
      root,
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      lockWaitMs: 3 * SESSION_TIMEOUT_MS,
      awayMsMax: 20_000,
      dial: fixture.network.dial,
      ...more,
    }),
    create: (newLog, more) => createZooKeeperLog(fixture.options(more), newLog),
    open: (more) => openZooKeeperLog(fixture.options(more)),
    crash() {
      fixture.network.cut(true);
      fixture.network = createNetwork();
    },
  };
  return fixture;
}
