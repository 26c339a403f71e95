/**
 * Finds out what a log in ZooKeeper holds, and what is left over in it.
 *
 * Reads only. Invariant: a vote whose entry is not there whole is reported as corruption.
 */
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { Ballot, GroupId, Slot } from '../../multipaxos/types/names.ts';
import { LogStoreError, type LogIdentity } from '../../ports/log-store.ts';
import { codeOf, getChildren, getData } from './client/protocol.ts';
import { NO_CHANGE, createContents, type Contents } from './contents.ts';
import { corrupt } from './errors.ts';
import { entryPaths } from './group.ts';
import {
  FORMAT_VERSION,
  fromJson,
  pieceOfName,
  slotOfName,
  slotOfPromise,
  type IdentityNode,
  type LogPaths,
  type MetaNodes,
  type VoteNode,
} from './layout.ts';
import type { Link } from './link.ts';

const REQUESTS_MAX = 1000;

/** Whose log it is. @throws LogStoreError logMissing, logFailed */
export async function readIdentity(link: Link, paths: LogPaths, group: GroupId): Promise<LogIdentity> {
  const node = (await readJson(link, paths.identity).catch((error: unknown) => {
    if (codeOf(error) !== 'noNode') throw error;
    throw new LogStoreError('logMissing', `there is no log in ${paths.paxos} in ZooKeeper`);
  })) as IdentityNode;
  if (node.version !== FORMAT_VERSION) {
    const known = `this Barista reads and writes version ${FORMAT_VERSION} only`;
    throw new LogStoreError('logFailed', `${paths.identity} has format version ${node.version}; ${known}`);
  }
  if (node.group !== group)
    throw new LogStoreError('logFailed', `${paths.paxos} belongs to group ${node.group}, not to ${group}`);
  return node.identity;
}

export interface Recovered {
  readonly contents: Contents;
  /** Nodes that a crash has left and nothing names. */
  readonly garbage: readonly string[];
}

/** Of a log that nobody writes to. @throws LogStoreError logCorrupt */
export async function recoverContents(link: Link, paths: LogPaths): Promise<Recovered> {
  const meta: MetaNodes = {
    promise: (await readJson(link, paths.promise)) as Ballot,
    commitPoint: (await readJson(link, paths.commitPoint)) as Slot,
    base: (await readJson(link, paths.base)) as Slot,
    configuration: (await readJson(link, paths.configuration)) as Configuration,
  };
  const contents = createContents(meta);
  const names = await link.retried(getChildren(paths.paxos));
  const slots = names.flatMap((name) => slotOfName(name) ?? []);
  const kept = slots.filter((slot) => slot > meta.base).sort((a, b) => a - b);
  for (let from = 0; from < kept.length; from += REQUESTS_MAX) {
    const some = kept.slice(from, from + REQUESTS_MAX);
    const votes = await Promise.all(some.map((slot) => readJson(link, paths.vote(slot))));
    contents.apply({ ...NO_CHANGE, votes: new Map(some.map((slot, i) => [slot, votes[i] as VoteNode])) });
  }
  const promised = names.flatMap((name) => slotOfPromise(name) ?? []);
  const slotPromises = new Map<Slot, Ballot>();
  for (const slot of promised.filter((each) => each > meta.base))
    slotPromises.set(slot, (await readJson(link, paths.slotPromise(slot))) as Ballot);
  contents.apply({ ...NO_CHANGE, slotPromises });
  const garbage = slots.filter((slot) => slot <= meta.base).map(paths.vote);
  garbage.push(...promised.filter((slot) => slot <= meta.base).map(paths.slotPromise));
  garbage.push(...(await unnamedEntries(link, paths, contents)));
  return { contents, garbage };
}

/** Nodes under sqlpaxos that no vote names. @throws LogStoreError logCorrupt if one that is named is missing */
async function unnamedEntries(link: Link, paths: LogPaths, contents: Contents): Promise<string[]> {
  const there = new Set<string>();
  for (const name of await link.retried(getChildren(paths.sqlpaxos))) {
    if (slotOfName(name) !== null || pieceOfName(name) !== null) there.add(`${paths.sqlpaxos}/${name}`);
  }
  for (const slot of contents.slots()) {
    for (const path of entryPaths(paths, slot, contents.get(slot) as VoteNode)) {
      if (!there.delete(path)) throw corrupt(path, `the entry of slot ${slot} is missing`);
    }
  }
  return [...there];
}

async function readJson(link: Link, path: string): Promise<unknown> {
  const { data } = await link.retried(getData(path));
  try {
    return fromJson(data);
  } catch (error) {
    throw corrupt(path, `not what Barista wrote: ${String(error)}`);
  }
}

/** The votes above the commit point, which their readers are told of. */
export function tailSlots(contents: Contents): Slot[] {
  const { commitPoint } = contents.meta();
  return contents.slots().filter((slot) => slot > commitPoint);
}
