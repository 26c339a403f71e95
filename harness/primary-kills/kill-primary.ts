/**
 * The primary of a group is killed under load, again and again, at one level of acknowledgement; what was acknowledged is looked for when another serves, or it does again.
 *
 * Responsible for: the group, the load, the kills, and counting. What the figures mean is report.ts.
 * Every few kills the group is founded anew: a replica whose database needs a copy executes its log from the beginning.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import type { Level } from '../../server/src/primary/types/effects.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { healed } from '../cluster/healing.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { ReplicaClients } from '../e2e/replica-clients.ts';
import { type Ledger, type LedgerResult, longestSilenceMs, startLedger } from '../workload/ledger.ts';

export interface KillOptions {
  readonly level: Level;
  readonly kills: number;
  readonly replicas: number;
  readonly clients: number;
  /** Between two rows of one client. */
  readonly pauseMs: number;
  /** On the way from each replica to each other one; what is on its way dies with its sender. */
  readonly delayMs: number;
  /** Kills of one group. */
  readonly killsOfGroup: number;
  readonly say: (line: string) => void;
}

/** One kill. Numbers are rows, each inserted by a request of its own. */
export interface Kill {
  readonly killed: string;
  /** Who serves next. */
  readonly next: string;
  /** Acknowledged since the last look, and of those: not there when somebody serves again. */
  readonly acknowledged: number;
  readonly lost: number;
  /** The longest time without an acknowledgement, and until the killed one was whole again. */
  readonly silentMs: number;
  readonly backMs: number;
}

export interface LevelResult {
  readonly level: Level;
  readonly kills: readonly Kill[];
  /** Rows whose clients were not told; and those of them that are there. */
  readonly unknown: number;
  readonly unknownAndThere: number;
  /** What must not be at any level. */
  readonly wrong: readonly string[];
}

interface Tally {
  readonly kills: Kill[];
  readonly wrong: string[];
  unknown: number;
  unknownAndThere: number;
}

const loadMs = { min: 400, more: 900 };
const serveMsMax = 90_000;
const healMsMax = 240_000;
const settleMsMax = 240_000;
/** Of a group that does not replicate: so long nobody serves. */
const awayMs = 1000;
/** Longer than an operation is given again (main/become-statement-replica.ts). */
const lateMs = 16_000;

export async function killAtLevel(options: KillOptions): Promise<LevelResult> {
  const tally: Tally = { kills: [], wrong: [], unknown: 0, unknownAndThere: 0 };
  while (tally.kills.length < options.kills) {
    const count = Math.min(options.killsOfGroup, options.kills - tally.kills.length);
    await killGroup(options, count, tally);
  }
  const { kills, wrong, unknown, unknownAndThere } = tally;
  return { level: options.level, kills, unknown, unknownAndThere, wrong };
}

async function killGroup(options: KillOptions, count: number, tally: Tally): Promise<void> {
  const { level, replicas, clients, pauseMs, say } = options;
  const isAlone = level === 'none';
  const cluster = await startCluster({
    replicas,
    untilOneServes: isAlone,
    args: ['--payload=statements', '--protocol=primary', `--replication=${level}`, '--no-dashboard'],
  });
  const doors = new ReplicaClients(cluster);
  let ledger: Ledger | null = null;
  try {
    await delayLinks(cluster, options.delayMs);
    const first = await cluster.leader(serveMsMax);
    const ports = [...cluster.pgwirePorts].sort(
      (a, b) => Number(b === first.pgwire.port) - Number(a === first.pgwire.port),
    );
    ledger = await startLedger(ports, clients, pauseMs);
    const look = new LostRows(cluster, doors, ledger);
    for (let n = 0; n < count; n += 1) {
      const kill = await killOnce(cluster, ledger, look, isAlone);
      tally.kills.push(kill);
      say(`${level.padEnd(8)} ${String(tally.kills.length).padStart(3)}  ${describe(kill)}`);
    }
    const result = await ledger.stop();
    ledger = null;
    if (!isAlone) await cluster.settled(settleMsMax);
    await lastLook(doors, result, look, isAlone ? await primaryIndex(cluster) : null, tally);
  } finally {
    await ledger?.stop();
    await doors.end();
    await cluster.stop();
  }
}

async function delayLinks(cluster: LocalCluster, amount: number): Promise<void> {
  if (amount === 0) return;
  const ids = cluster.pgwirePorts.map((_, index) => `r${index + 1}` as ReplicaId);
  for (const from of ids)
    for (const to of ids) if (from !== to) await cluster.fault({ action: 'delay', from, to, amount });
}

async function killOnce(
  cluster: LocalCluster,
  ledger: Ledger,
  look: LostRows,
  isAlone: boolean,
): Promise<Kill> {
  await anotherRow(ledger);
  await sleep(loadMs.min + Math.random() * loadMs.more);
  const primary = await cluster.leader(serveMsMax);
  const { id: replica, incarnation } = primary;
  const killedAtMs = performance.now();
  await cluster.fault({ action: 'crash', replica });
  if (isAlone) await sleep(awayMs);
  else await otherPrimary(cluster, replica);
  const restartedAtMs = performance.now();
  await cluster.fault({ action: 'restart', replica });
  await anotherRow(ledger, killedAtMs);
  await healed(cluster, replica, incarnation, healMsMax);
  const backMs = performance.now() - restartedAtMs;
  const silentMs = longestSilenceMs(ledger.soFar().acknowledgedAtMs, killedAtMs, performance.now());
  const { id: next } = await cluster.leader(serveMsMax);
  return { killed: replica, next, ...(await look.now()), silentMs, backMs };
}

/** A row is acknowledged, from now on or behind the moment. */
async function anotherRow(ledger: Ledger, behindMs = performance.now()): Promise<void> {
  const { acknowledgedAtMs } = ledger.soFar();
  for (const deadline = performance.now() + serveMsMax; performance.now() < deadline; await sleep(20))
    if ((acknowledgedAtMs.at(-1) ?? 0) > behindMs) return;
  throw new Error(`nothing was acknowledged for ${serveMsMax} ms`);
}

async function otherPrimary(cluster: LocalCluster, than: ReplicaId): Promise<ReplicaStatus> {
  for (const deadline = performance.now() + serveMsMax; performance.now() < deadline; await sleep(50)) {
    const { replicas } = await cluster.status();
    const found = replicas.find(
      ({ id, process, status }) =>
        id !== than &&
        process === 'running' &&
        status?.protocol.name === 'primary' &&
        status.protocol.role === 'primary',
    );
    if (found?.status != null) return found.status;
  }
  throw new Error(`nobody has taken over from ${than} within ${serveMsMax} ms`);
}

async function primaryIndex(cluster: LocalCluster): Promise<number> {
  const { pgwire } = await cluster.leader(serveMsMax);
  return cluster.pgwirePorts.indexOf(pgwire.port);
}

/** Rows that were acknowledged and are not there. */
class LostRows {
  private readonly cluster: LocalCluster;
  private readonly doors: ReplicaClients;
  private readonly ledger: Ledger;
  readonly lost = new Set<number>();
  private seen = 0;

  constructor(cluster: LocalCluster, doors: ReplicaClients, ledger: Ledger) {
    this.cluster = cluster;
    this.doors = doors;
    this.ledger = ledger;
  }

  async now(): Promise<{ acknowledged: number; lost: number }> {
    const acknowledged = [...this.ledger.soFar().acknowledged];
    const client = await this.doors.connect(await primaryIndex(this.cluster));
    const rows = await client.query<{ id: string }>('SELECT id FROM ledger');
    await client.end();
    return this.count(acknowledged, new Set(rows.rows.map(({ id }) => Number(id))));
  }

  count(acknowledged: readonly number[], there: ReadonlySet<number>): { acknowledged: number; lost: number } {
    const lost = acknowledged.filter((id) => !there.has(id) && !this.lost.has(id));
    for (const id of lost) this.lost.add(id);
    const since = acknowledged.length - this.seen;
    this.seen = acknowledged.length;
    return { acknowledged: since, lost: lost.length };
  }
}

/** Nobody writes any more. `only`: where nothing is replicated, who has it. */
async function lastLook(
  doors: ReplicaClients,
  result: LedgerResult,
  look: LostRows,
  only: number | null,
  tally: Tally,
): Promise<void> {
  // What a client was not told of may yet be ordered, and executed between one look and the next.
  await sleep(lateMs);
  const tables = await tablesOf(doors, only);
  const [rows = []] = tables;
  for (const other of tables.slice(1)) {
    const [missing, more] = [without(rows, other), without(other, rows)];
    if (missing.length + more.length > 0)
      tally.wrong.push(
        `replicas differ in the end: one lacks ${missing.length} rows (${missing.slice(0, 3).join(', ')}), and has ${more.length} more (${more.slice(0, 3).join(', ')})`,
      );
  }
  const there = new Set(rows);
  const { lost } = look.count([...result.acknowledged], there);
  if (lost > 0) tally.wrong.push(`${lost} acknowledged rows went without a kill`);
  if (rows.length !== there.size) tally.wrong.push(`${rows.length - there.size} rows are there twice`);
  const refused = [...result.refused].filter((id) => there.has(id)).length;
  if (refused > 0) tally.wrong.push(`${refused} rows that were refused are there`);
  tally.unknown += result.doubtful.size;
  tally.unknownAndThere += [...result.doubtful].filter((id) => there.has(id)).length;
}

/** What each replica's own PostgreSQL has. */
async function tablesOf(doors: ReplicaClients, only: number | null): Promise<readonly (readonly number[])[]> {
  const tables: (readonly number[])[] = [];
  for (const replica of only === null ? doors.replicas : [only]) {
    const client = await doors.connect(replica);
    const { rows } = await client.query<{ id: string }>('SELECT id FROM ledger ORDER BY id');
    await client.end();
    tables.push(rows.map(({ id }) => Number(id)));
  }
  return tables;
}

function without(these: readonly number[], others: readonly number[]): readonly number[] {
  const there = new Set(others);
  return these.filter((id) => !there.has(id));
}

function describe({ killed, next, acknowledged, lost, silentMs, backMs }: Kill): string {
  const times = `${Math.round(silentMs)} ms without an answer, back after ${Math.round(backMs)} ms`;
  return `${killed} killed, ${next} serves: ${acknowledged} acknowledged, ${lost} lost; ${times}`;
}
