/**
 * Where the replicas of a demo keep their logs: what was asked for, what the data directory remembers, and whether it can be had.
 *
 * A demo in ZooKeeper has a root of its own, drawn when its directory is new, so that demos can share a server and none takes another's nodes for its own.
 * Invariant: a demo never changes its kind of store; its ZooKeeper may move, but must hold the demo's nodes once there are any.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { isRootThere } from '../adapters/zookeeper-log/remove-log.ts';
import type { ReplicaConfigInput } from '../config/config-schema.ts';
import { CliError, exitCodes } from '../main/errors.ts';

/** As typed. `servers` null: where it was, or `defaultServers`. */
export type StoreWish =
  | { readonly kind: 'segment' }
  | { readonly kind: 'zookeeper'; readonly servers: readonly string[] | null };

export const demoStoreSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('segment') }),
  z.strictObject({
    kind: z.literal('zookeeper'),
    servers: z.array(z.string().min(1)).min(1).max(9),
    root: z.string().min(2),
  }),
]);
export type DemoStore = z.output<typeof demoStoreSchema>;

export const segmentStore: DemoStore = { kind: 'segment' };
const defaultServers: readonly string[] = ['127.0.0.1:2181'];
/** Twice this passes, at worst, before a replica that was killed can be started again. ZooKeeper raises it to two of its ticks: 4 s as it comes. */
const sessionTimeoutMs = 2000;
/** ZooKeeper holds all of it in memory, once for each replica. */
const logBytesMaxInZooKeeper = 64 * 1024 * 1024;
const answerMsMax = 5000;

/** What a demo in `dir` has from now on. @throws CliError if it has another store already */
export function settleStore(dir: string, remembered: DemoStore | null, wish: StoreWish | null): DemoStore {
  if (remembered === null) {
    if (wish === null || wish.kind === 'segment') return segmentStore;
    const root = `/barista-${randomBytes(6).toString('hex')}`;
    return { kind: 'zookeeper', servers: [...(wish.servers ?? defaultServers)], root };
  }
  if (wish === null) return remembered;
  if (wish.kind !== remembered.kind) {
    throw new CliError(
      `${dir} holds a cluster whose logs are in ${nameOf(remembered)}, and they are asked to be in ${nameOf(wish)}. ` +
        'A demo keeps its store: leave --log-store and --zookeeper out, use another --data-dir, or delete this one.',
      exitCodes.usage,
    );
  }
  if (remembered.kind === 'segment' || wish.kind === 'segment' || wish.servers === null) return remembered;
  return { ...remembered, servers: [...wish.servers] };
}

function nameOf({ kind }: StoreWish): string {
  return kind === 'segment' ? 'files' : 'ZooKeeper';
}

/** @throws CliError if its ZooKeeper does not answer, or is not the one that holds the logs of a demo that was founded */
export async function requireStore(store: DemoStore, founded: boolean): Promise<void> {
  if (store.kind === 'segment') return;
  const { servers, root } = store;
  const where = servers.join(', ');
  const there = await isRootThere({ servers, root, waitMs: answerMsMax }).catch((cause: unknown) => {
    throw new CliError(
      `No ZooKeeper can be used at ${where}: ${(cause as Error).message}. Start it, or say where it is with --zookeeper.`,
      exitCodes.notRunning,
      { cause },
    );
  });
  if (founded && !there) {
    throw new CliError(
      `The ZooKeeper at ${where} holds nothing of this cluster (${root}). Say with --zookeeper where its logs are. ` +
        'If they are lost, so is what the replicas have promised: start anew with another --data-dir.',
    );
  }
}

export interface DemoBounds {
  readonly logBytesMax: number | null;
  readonly clientsMax: number | null;
}

/** What of a replica's configuration follows from it. A bound that is null is the replica's own, but for that on a log in ZooKeeper. */
export function storeConfigOf(
  store: DemoStore,
  { logBytesMax, clientsMax }: DemoBounds,
): Pick<ReplicaConfigInput, 'logStore' | 'bounds'> {
  const clients = clientsMax === null ? {} : { clientsMax };
  if (store.kind === 'segment')
    return { bounds: { ...clients, ...(logBytesMax === null ? {} : { logBytesMax }) } };
  return {
    logStore: { ...store, sessionTimeoutMs },
    bounds: { ...clients, logBytesMax: logBytesMax ?? logBytesMaxInZooKeeper },
  };
}
