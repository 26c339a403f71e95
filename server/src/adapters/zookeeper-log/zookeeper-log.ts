/**
 * The log store in Apache ZooKeeper: the composition of its parts, creating and purging.
 *
 * Where things stand: layout.ts. Guarantees: see ports/log-store.ts, with ZooKeeper's ensemble in the place of the disk: what it has acknowledged is
 * on the disks of a majority of its servers. After a broken connection or an expired session the log goes on by itself if nobody else has written to it;
 * if ZooKeeper stays away for longer than `awayMsMax`, or another process has the log, it fails with logFailed and stays failed.
 */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { RecoveredLog } from '../../multipaxos/types/records.ts';
import { LogStoreError, type LogStore, type NewLog } from '../../ports/log-store.ts';
import { removeNodes } from './cleaner.ts';
import { codeOf, create, getData, multi, type WriteOp } from './client/protocol.ts';
import type { Contents } from './contents.ts';
import { createEntryReader, type EntryReader } from './entry-reader.ts';
import { asLogStoreError } from './errors.ts';
import { createGroupWriter, type GroupWriter } from './group-writer.ts';
import { entryPaths } from './group.ts';
import {
  FORMAT_VERSION,
  fromJson,
  logPaths,
  toJson,
  toPaddedJson,
  type LogPaths,
  type VoteNode,
  type WriterNode,
} from './layout.ts';
import { createLink, type Link } from './link.ts';
import { readIdentity, recoverContents, tailSlots } from './recover.ts';
import { unitsOf } from './units.ts';

const ROOT = '/barista';
const SESSION_TIMEOUT_MS = 10_000;
const AWAY_MS_MAX = 30_000;
const PURGE_ATTEMPTS = 5;

export interface ZooKeeperLogOptions {
  readonly group: GroupId;
  /** Names the log's nodes: that of the replica, whichever its incarnation. */
  readonly replica: ReplicaId;
  /** `host:port` of each server of the ensemble. */
  readonly servers: readonly string[];
  /** How long ZooKeeper keeps the lock of a process that it does not hear from. Default: 10 s. */
  readonly sessionTimeoutMs?: number;
  /** Node under which all replicas' logs are. Groups that share an ensemble need one each. Default: /barista. */
  readonly root?: string;
  /** How long ZooKeeper may be out of reach before the log fails. Default: 30 s. */
  readonly awayMsMax?: number;
  /** How long opening waits for the lock of a process that may have died. Default: somewhat longer than a session's timeout as ZooKeeper grants it. */
  readonly lockWaitMs?: number;
  /** For tests: opens a connection. */
  readonly dial?: (host: string, port: number) => Socket;
  /** For tests: after how many writes the writer's node is made anew. */
  readonly versionMax?: number;
}

/** Makes the log of `replica`, all of it or none, and opens it. @throws LogStoreError logExists, logFailed... */
export async function createZooKeeperLog(options: ZooKeeperLogOptions, newLog: NewLog): Promise<LogStore> {
  const { link, paths, owner } = linkOf(options);
  return orClose(link, 'creating the log in ZooKeeper', async () => {
    for (const path of paths.parents) await createIfMissing(link, path);
    await createNodes({ link, paths, owner }, options.group, newLog);
    return open(options, link, paths, owner);
  });
}

/** Opens the log of `replica` and locks it. @throws LogStoreError logMissing, logLocked, logCorrupt, logFailed... */
export async function openZooKeeperLog(options: ZooKeeperLogOptions): Promise<LogStore> {
  const { link, paths, owner } = linkOf(options);
  return orClose(link, 'opening the log in ZooKeeper', () => open(options, link, paths, owner));
}

interface Opening {
  readonly link: Link;
  readonly paths: LogPaths;
  readonly owner: string;
}

function linkOf(options: ZooKeeperLogOptions): Opening {
  const paths = logPaths(options.root ?? ROOT, options.replica);
  const owner = randomBytes(8).toString('hex');
  const sessionTimeoutMs = options.sessionTimeoutMs ?? SESSION_TIMEOUT_MS;
  const awayMsMax = options.awayMsMax ?? AWAY_MS_MAX;
  return {
    paths,
    owner,
    link: createLink({ ...options, paths, owner, sessionTimeoutMs, awayMsMax }),
  };
}

async function orClose(link: Link, doing: string, act: () => Promise<LogStore>): Promise<LogStore> {
  try {
    return await act();
  } catch (error) {
    await link.close();
    throw asLogStoreError(error, doing);
  }
}

async function createIfMissing(link: Link, path: string): Promise<void> {
  try {
    await link.retried(create(path, new Uint8Array()));
  } catch (error) {
    if (codeOf(error) !== 'nodeExists') throw error;
  }
}

async function createNodes({ link, paths, owner }: Opening, group: GroupId, newLog: NewLog): Promise<void> {
  const { identity, configuration, base, promised } = newLog;
  const node = (path: string, data: Uint8Array = new Uint8Array()): WriteOp => ({
    kind: 'create',
    path,
    data,
  });
  const failure = await link.retried(
    multi([
      node(paths.paxos),
      node(paths.sqlpaxos),
      node(paths.identity, toJson({ version: FORMAT_VERSION, group, identity })),
      node(paths.promise, toJson(promised)),
      node(paths.commitPoint, toPaddedJson(base)),
      node(paths.base, toPaddedJson(base)),
      node(paths.configuration, toJson(configuration)),
      node(paths.writer, toPaddedJson({ owner, sequence: 0 })),
    ]),
  );
  if (failure === null) return;
  if (codeOf(failure.error) !== 'nodeExists') throw failure.error;
  // The connection may have broken after the first attempt had made it.
  const madeBy = await link.retried(getData(paths.writer)).catch(() => null);
  if (madeBy !== null && (fromJson(madeBy.data) as WriterNode).owner === owner) return;
  throw new LogStoreError('logExists', `${failure.op.path} is in ZooKeeper already`, {
    cause: failure.error,
  });
}

async function open(
  { group }: ZooKeeperLogOptions,
  link: Link,
  paths: LogPaths,
  owner: string,
): Promise<LogStore> {
  const identity = await readIdentity(link, paths, group);
  const turn = await link.acquire();
  const { contents, garbage } = await recoverContents(link, paths);
  await removeNodes(link, garbage);
  const entries = createEntryReader(group, paths, link, contents);
  const recovered = await recoveredLog(contents, entries);
  const tidy = createTidier(link, paths, contents);
  const writer = createGroupWriter({ paths, link, contents, turn, owner, ...tidy });
  return { identity, recovered, ...createPort(group, link, contents, entries, writer, tidy) };
}

async function recoveredLog(contents: Contents, entries: EntryReader): Promise<RecoveredLog> {
  const { promise, commitPoint, base, configuration } = contents.meta();
  const tail = await entries.slots(tailSlots(contents));
  const slotPromises = contents
    .promisedSlots()
    .filter((slot) => slot > commitPoint)
    .map((slot) => ({ slot, ballot: contents.slotPromise(slot) as Ballot }));
  return {
    ...(slotPromises.length === 0 ? {} : { slotPromises }),
    promised: promise,
    commitPoint,
    purgedTo: base,
    configuration,
    tail: tail.map(({ slot, vote, entry }) => ({ slot, ballot: vote.ballot, entry })),
  };
}

interface Tidier {
  readonly onReplaced: (replaced: ReadonlyMap<Slot, VoteNode>) => void;
  readonly removeUnused: (paths: readonly string[]) => Promise<void>;
  /** Resolves when all that was to be removed is removed, or was tried. */
  readonly done: () => Promise<void>;
}

/** Removes behind the writer's back what is of no use any more. What it fails to remove, the next opening removes. */
function createTidier(link: Link, paths: LogPaths, contents: Contents): Tidier {
  let removing = Promise.resolve();
  const removeLater = (names: readonly string[]): Promise<void> => {
    if (names.length > 0) removing = removing.then(() => removeNodes(link, names)).catch(() => undefined);
    return removing;
  };
  return {
    removeUnused: removeLater,
    onReplaced(replaced) {
      const { base } = contents.meta();
      const names: string[] = contents.dropPromises().map(paths.slotPromise);
      for (const [slot, vote] of replaced) {
        if (slot <= base) names.push(paths.vote(slot), ...entryPaths(paths, slot, vote));
        else if (vote.pieces !== null) names.push(...entryPaths(paths, slot, vote));
      }
      void removeLater(names);
    },
    done: () => removing,
  };
}

function createPort(
  group: GroupId,
  link: Link,
  contents: Contents,
  entries: EntryReader,
  writer: GroupWriter,
  tidy: Tidier,
): Omit<LogStore, 'recovered' | 'identity'> {
  let closing: Promise<void> | null = null;
  return {
    async append(records) {
      for (const record of records) {
        const isEntry = record.kind === 'vote' || record.kind === 'chosen';
        if (isEntry && record.entry.group !== group)
          throw new RangeError(`an entry of group ${record.entry.group} in the log of group ${group}`);
      }
      await writer.append(unitsOf(records));
    },
    async read(fromSlot, toSlot, bytesMax) {
      if (closing !== null) throw new LogStoreError('logClosed', 'the log is closed');
      try {
        return (await entries.range(fromSlot, toSlot, bytesMax)).map(({ entry }) => entry);
      } catch (error) {
        throw asLogStoreError(error, 'reading the log in ZooKeeper');
      }
    },
    async purge(upTo) {
      if (upTo <= contents.meta().base) return;
      for (let attempt = 1; ; attempt++) {
        try {
          await writer.append(unitsOf([{ kind: 'purged', slot: upTo }]));
          return await tidy.done();
        } catch (error) {
          // An append before it found no space, and all behind that one failed with it. A purge needs none.
          const isFull = error instanceof LogStoreError && error.code === 'logFull';
          if (!isFull || attempt === PURGE_ATTEMPTS) throw error;
        }
      }
    },
    stats: () => ({ purgedTo: contents.meta().base, bytes: contents.bytes(), segments: 1 }),
    close() {
      closing ??= (async () => {
        await writer.close();
        await tidy.done();
        await link.close();
      })();
      return closing;
    },
  };
}
