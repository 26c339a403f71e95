/**
 * One damage done to one replica of a group under load, and what becomes of it.
 *
 * Responsible for: choosing the replica, stopping and starting it, and waiting until it is whole by itself or the time is up. Whether it is whole is asked of its own PostgreSQL, too: what a replica says of itself is not enough.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { copiesSince, logMark, statusOf } from '../cluster/healing.ts';
import { isWhole, type LocalCluster } from '../cluster/local-cluster.ts';
import { damage, type Damage, type RelationPaths } from './damages.ts';

export type Role = 'follower' | 'leader';
export type When = 'stopped' | 'running';

export interface Case extends Damage {
  readonly role: Role;
  readonly when: When;
}

/**
 * `whole`: by itself, with so many copies; `restarted`: only once the replica was started again. `stated`: it is not whole, and says why. `unnoticed`: it says that it serves, and does not. `absent`: there is no such file.
 */
export interface Outcome extends Case {
  readonly replica: ReplicaId;
  readonly code: 'whole' | 'restarted' | 'stated' | 'unnoticed' | 'absent';
  readonly copies: number;
  readonly ms: number;
  /** What it said of itself while it was not whole; of PostgreSQL's own files, what is wrong with them in the end. */
  readonly said: string;
  /** What it said in the second half of the time in which it did not become whole, each thing once. */
  readonly words: readonly Word[];
}

/** What a replica says of itself at a moment. */
export interface Word {
  /** `silent`: it does not answer. */
  readonly state: ReplicaStatus['state'] | 'silent';
  readonly message: string | null;
  readonly recovers: boolean;
}

export interface CaseOptions {
  readonly cluster: LocalCluster;
  readonly paths: RelationPaths;
  /** What the database holds, as `contents` tells it. */
  readonly expected: string;
  readonly wholeMsMax: number;
  /** So long a damage of a running replica may go unseen before the replica is started again. */
  readonly unseenMs: number;
}

const settleMsMax = 180_000;
const lookMs = 250;
const rememberedMsMax = 60_000;
const ofRelation = /<(?:catalog|table|toast|index)>/;
/** Whatever has no checksum, and is remembered. */
export const ofEnds = /pg_xact|pg_multixact/;

export async function runCase(options: CaseOptions, one: Case): Promise<Outcome> {
  const { cluster, paths, unseenMs } = options;
  const { id, processPid } = await choose(cluster, one.role);
  const mark = await logMark(cluster, id);
  const directory = join(cluster.dataDir, id, 'postgres');
  if (ofRelation.test(one.target)) await untilRemembered(directory, paths);
  if (ofEnds.test(one.target)) await untilWritten(join(directory, 'ends.json'));
  if (one.when === 'stopped') await stopReplica(cluster, id, processPid);
  const isThere = await damage(directory, one, paths);
  const begunAtMs = performance.now();
  if (one.when === 'stopped') await cluster.fault({ action: 'restart', replica: id });
  const told = async (
    code: Outcome['code'],
    { said, words }: Pick<Outcome, 'said' | 'words'>,
  ): Promise<Outcome> => ({
    ...one,
    replica: id,
    code,
    copies: (await copiesSince(cluster, id, mark)).length,
    ms: Math.round(performance.now() - begunAtMs),
    said,
    words,
  });
  if (!isThere) return told('absent', { said: '', words: [] });
  const watch = new Watch(options, id);
  if (one.when === 'stopped') {
    const seen = await watch.untilWhole();
    return told(seen.isWhole ? 'whole' : seen.code, seen);
  }
  // It may take a moment until anybody looks at what is damaged.
  const isSeen = await watch.untilTrouble(unseenMs);
  const first = isSeen ? await watch.untilWhole() : null;
  if (first !== null) return told(first.isWhole ? 'whole' : first.code, first);
  const now = await pidOf(cluster, id);
  await stopReplica(cluster, id, now);
  await cluster.fault({ action: 'restart', replica: id });
  const second = await watch.untilWhole();
  const hasCopied = (await copiesSince(cluster, id, mark)).length > 0;
  return told(second.isWhole ? (hasCopied ? 'restarted' : 'whole') : second.code, second);
}

/** A database that has just been made, copied or started has been looked at since. */
async function untilRemembered(directory: string, paths: RelationPaths): Promise<void> {
  const until = performance.now() + rememberedMsMax;
  const sizes = join(directory, 'sizes.json');
  const isRemembered = async (): Promise<boolean> =>
    (await writtenAtMs(sizes)) > (await writtenAtMs(join(directory, 'data', 'postmaster.pid'))) &&
    (await readFile(sizes, 'utf8').catch(() => '')).includes(`"${paths.toast}"`);
  while (!(await isRemembered()) && performance.now() < until) await sleep(1_000);
}

async function untilWritten(path: string): Promise<void> {
  const begunAtMs = Date.now();
  const until = performance.now() + rememberedMsMax;
  while ((await writtenAtMs(path)) < begunAtMs && performance.now() < until) await sleep(500);
}

function writtenAtMs(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

async function choose(
  cluster: LocalCluster,
  role: Role,
): Promise<{ id: ReplicaId; processPid: number | null }> {
  const statuses = await cluster.settled(settleMsMax);
  const leader = await cluster.leader();
  const followers = statuses.filter(({ id }) => id !== leader.id);
  const chosen = role === 'leader' ? leader : followers[Math.floor(Math.random() * followers.length)]!;
  return { id: chosen.id, processPid: chosen.postgres.pid };
}

async function pidOf(cluster: LocalCluster, id: ReplicaId): Promise<number | null> {
  return (await statusOf(cluster, id))?.postgres.pid ?? null;
}

async function stopReplica(cluster: LocalCluster, id: ReplicaId, postgresPid: number | null): Promise<void> {
  await cluster.fault({ action: 'crash', replica: id });
  if (postgresPid === null) return;
  const until = performance.now() + 20_000;
  while (isAlive(postgresPid) && performance.now() < until) await sleep(50);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

interface Seen extends Pick<Outcome, 'said' | 'words'> {
  readonly isWhole: boolean;
  readonly code: 'stated' | 'unnoticed';
}

class Watch {
  private readonly options: CaseOptions;
  private readonly id: ReplicaId;
  private said = '';

  constructor(options: CaseOptions, id: ReplicaId) {
    this.options = options;
    this.id = id;
  }

  private async look(): Promise<{ status: ReplicaStatus | null; isWhole: boolean }> {
    const status = await statusOf(this.options.cluster, this.id).catch(() => null);
    if (status !== null && status.state !== 'serving' && status.message !== null)
      this.said = `${status.state}: ${status.message.split('\n', 1)[0]}`;
    return { status, isWhole: status !== null && isWhole(status) };
  }

  /** False: nothing was seen in that time. */
  async untilTrouble(msMax: number): Promise<boolean> {
    for (const until = performance.now() + msMax; performance.now() < until; await sleep(lookMs)) {
      const { status, isWhole: whole } = await this.look();
      if (status === null || !whole) return true;
    }
    return false;
  }

  async untilWhole(): Promise<Seen> {
    const { expected, wholeMsMax } = this.options;
    let wrong = '';
    let last: ReplicaStatus | null = null;
    const words = new Map<string, Word>();
    const until = performance.now() + wholeMsMax;
    for (; performance.now() < until; await sleep(lookMs)) {
      const { status, isWhole: whole } = await this.look();
      last = status;
      const word = wordOf(status);
      if (until - performance.now() < wholeMsMax / 2) words.set(JSON.stringify(word), word);
      if (status === null || !whole) continue;
      wrong = await contents(status.postgres).then(
        (found) => (found === expected ? '' : `it holds ${found} instead of ${expected}`),
        (error: Error) => error.message,
      );
      if (wrong === '') return { isWhole: true, code: 'stated', said: this.said, words: [] };
    }
    const serves = last !== null && isWhole(last);
    const seen = { isWhole: false, words: [...words.values()] };
    return serves
      ? { ...seen, code: 'unnoticed', said: wrong }
      : { ...seen, code: 'stated', said: this.said };
  }
}

function wordOf(status: ReplicaStatus | null): Word {
  if (status === null) return { state: 'silent', message: null, recovers: false };
  const { state, message, recovery } = status;
  return { state, message: message?.split('\n', 1)[0] ?? null, recovers: recovery !== null };
}

/** As `expected` is told. Nobody has read the commits before this case: rows that were read tell themselves that they are committed. */
async function contents(postgres: ReplicaStatus['postgres']): Promise<string> {
  const probed = await probe(postgres);
  const client = await connect(postgres);
  try {
    const { rows } = await client.query<{ count: string }>('SELECT count(*) FROM damage_commits');
    return contentsOf(probed, Number(rows[0]!.count));
  } finally {
    await client.end().catch(() => undefined);
  }
}

export function contentsOf(probed: string, commits: number): string {
  return `${probed}, ${commits} commits`;
}

async function connect({ socketDir, port }: ReplicaStatus['postgres']): Promise<Client> {
  const client = new Client({ host: socketDir, port, user: 'postgres', database: 'barista' });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** What the table of the cases holds, read from its pages and by its index, and whether every relation has its file. @throws Error as PostgreSQL tells it */
export async function probe(postgres: ReplicaStatus['postgres']): Promise<string> {
  const client = await connect(postgres);
  try {
    const { rows } = await client.query<{ pages: string; missing: string; catalog: string }>(
      `SELECT (SELECT count(*) || '/' || sum(hashtextextended(text, 0)) FROM damage_case) AS pages, (SELECT count(*) FROM pg_proc) AS catalog,
              (SELECT count(*) FROM pg_class WHERE relpersistence = 'p' AND pg_relation_filepath(oid) IS NOT NULL
                AND pg_stat_file(pg_relation_filepath(oid), true) IS NULL) AS missing`,
    );
    await client.query('SET enable_seqscan = off');
    const found = await client.query<{ text: string }>('SELECT text FROM damage_case WHERE id = 77');
    // Each page of the index.
    const all = await client.query<{ count: string }>('SELECT count(*) FROM damage_case WHERE id > 0');
    return `${rows[0]!.pages} rows, ${rows[0]!.missing} files missing, ${rows[0]!.catalog} functions, ${found.rows.length} and ${all.rows[0]!.count} by index`;
  } finally {
    await client.end().catch(() => undefined);
  }
}
