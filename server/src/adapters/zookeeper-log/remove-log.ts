/**
 * What a log leaves in ZooKeeper when nobody opens it: whether it is there, and taking it away.
 *
 * Responsible for: a replica's nodes as a whole, for a replica whose disk is to be lost or that is gone for good. Its process must have ended.
 * Invariant: first goes what makes the nodes a log, so that the rest of an interrupted removal is never opened as one; then what every group of records must name, so that
 * nothing comes after that a dead process had still under way.
 */
import { removeNodes } from './cleaner.ts';
import { codeOf, getChildren, remove, sync, type ZooKeeperRequest } from './client/protocol.ts';
import { startSession } from './client/session.ts';
import { asLogStoreError } from './errors.ts';
import { logPaths } from './layout.ts';
import type { ZooKeeperLogOptions } from './zookeeper-log.ts';
import { isBroken, type Link } from './link.ts';

const SESSION_TIMEOUT_MS = 4000;
/** A removal that finds new nodes each time is not alone. */
const ROUNDS_MAX = 5;

export type WhereOptions = Pick<ZooKeeperLogOptions, 'servers' | 'dial'> & {
  readonly root: string;
  /** How long ZooKeeper may take to answer. */
  readonly waitMs: number;
};

/** Whether anything was ever stored below `root`. @throws LogStoreError logFailed if no server answers */
export function isRootThere(options: WhereOptions): Promise<boolean> {
  return withServer(options, `looking for ${options.root} in ZooKeeper`, async ({ retried }) => {
    await retried(sync(options.root));
    return (await childrenOf(retried, options.root)) !== null;
  });
}

/** Removes the log of `replica`, and the lock of a process that was killed. Nothing to do if there is none. @throws LogStoreError logFailed */
export function removeZooKeeperLog(
  options: WhereOptions & Pick<ZooKeeperLogOptions, 'replica'>,
): Promise<void> {
  const paths = logPaths(options.root, options.replica);
  return withServer(options, `removing ${paths.paxos} from ZooKeeper`, async (link) => {
    await link.retried(sync(options.root));
    for (const path of [paths.identity, paths.writer]) await removeIfThere(link.retried, path);
    for (const parent of [paths.paxos, paths.sqlpaxos]) await removeWhole(link, parent);
  });
}

/** A node and its children, of which a request that was on its way may still make some. */
async function removeWhole(link: Pick<Link, 'request' | 'retried'>, parent: string): Promise<void> {
  for (let round = 1; ; round++) {
    const names = await childrenOf(link.retried, parent);
    if (names === null) return;
    await removeNodes(
      link,
      names.map((name) => `${parent}/${name}`),
    );
    try {
      await removeIfThere(link.retried, parent);
      return;
    } catch (error) {
      if (codeOf(error) !== 'notEmpty' || round === ROUNDS_MAX) throw error;
    }
  }
}

async function childrenOf(retried: Link['retried'], path: string): Promise<readonly string[] | null> {
  return orIfMissing(retried(getChildren(path)), null);
}

async function removeIfThere(retried: Link['retried'], path: string): Promise<void> {
  await orIfMissing(retried(remove(path)), undefined);
}

async function orIfMissing<T, M>(asked: Promise<T>, missing: M): Promise<T | M> {
  try {
    return await asked;
  } catch (error) {
    if (codeOf(error) !== 'noNode') throw error;
    return missing;
  }
}

/** A session for as long as `act` takes. */
async function withServer<T>(
  { servers, dial, waitMs }: WhereOptions,
  doing: string,
  act: (link: Pick<Link, 'request' | 'retried'>) => Promise<T>,
): Promise<T> {
  const session = startSession({
    servers,
    sessionTimeoutMs: SESSION_TIMEOUT_MS,
    ...(dial === undefined ? {} : { dial }),
  });
  const deadline = performance.now() + waitMs;
  const retried = async <R>(request: ZooKeeperRequest<R>): Promise<R> => {
    for (;;) {
      await session.whenConnected(deadline - performance.now());
      try {
        return await session.request(request);
      } catch (error) {
        if (!isBroken(error) || performance.now() > deadline) throw error;
      }
    }
  };
  try {
    return await act({ request: (request) => session.request(request), retried });
  } catch (error) {
    throw asLogStoreError(error, doing);
  } finally {
    await session.close();
  }
}
