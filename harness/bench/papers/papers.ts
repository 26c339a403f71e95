/**
 * `npm run bench -- papers`: the experiments of the papers that Barista is built from, again, on one machine.
 *
 * Responsible for: which groups are started for which experiment, and what is run on them, one after the other, each from nothing. What is in the report is papers-report.ts's business.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../../server/src/adapters/testing/ports.ts';
import type { TpccScale } from '../../workload/tpcc/tpcc-scale.ts';
import { ownCheckout } from '../build-server.ts';
import { runScripts } from '../compare/loads/pgbench-load.ts';
import { loadYcsb, writeYcsbScripts, ycsbMixArgs } from '../compare/loads/ycsb.ts';
import type { LoadFigures } from '../compare/loads/workloads.ts';
import { versionOf } from '../compare/systems/barista.ts';
import { startNative } from '../compare/systems/native.ts';
import type { Shell } from '../interruptible.ts';
import { describeMachine, type Machine } from '../machine.ts';
import type { SqlTarget } from '../sql.ts';
import { costsOfOne, type Costs } from './costs.ts';
import { type GroupKind, type PaperGroup, startPaperGroup } from './paper-group.ts';
import { levels } from '../../../server/src/primary/types/effects.ts';
import { loadTpccInPieces, runTpccTimes, type TpccTimes } from './tpcc-times.ts';

export const paperParts = ['tpcc', 'commit-point', 'overhead', 'levels'] as const;
export type PaperPart = (typeof paperParts)[number];

export interface PapersOptions {
  readonly parts: readonly PaperPart[];
  readonly delaysMs: readonly number[];
  readonly seconds: number;
  readonly clients: readonly number[];
}

/** Null: one PostgreSQL, as it comes. */
export type Subject = GroupKind | null;

export interface TpccResult {
  readonly subject: Subject;
  readonly delayMs: number;
  readonly figures: TpccTimes;
}

export interface YcsbResult {
  readonly subject: Subject;
  readonly delayMs: number;
  readonly updates: number;
  readonly clients: number;
  readonly figures: LoadFigures;
  /** For one transaction, of all replicas together. Null: of one PostgreSQL, which has none. */
  readonly costs: Costs | null;
}

export interface PapersRun {
  readonly machine: Machine;
  readonly commit: string | null;
  readonly startedAt: string;
  readonly tookSeconds: number;
  readonly options: PapersOptions;
  readonly scale: TpccScale;
  readonly tpcc: readonly TpccResult[];
  readonly commitPoint: readonly YcsbResult[];
  readonly overhead: readonly YcsbResult[];
  readonly levels: readonly YcsbResult[];
}

/** A tenth of a warehouse's items and customers: each row is agreed on as a statement where these travel. */
const scale: TpccScale = { warehouses: 1, customers: 300, items: 10_000 };
const terminals = 10;
/** As the other runs: its transactions are long. */
export const tpccTimesAsLong = 4;
const ycsbScale = 2;
/** h-store-replication.txt, section 5: ten client threads; reads and updates in these shares. */
const levelClients = 10;
const levelUpdates = [0, 25, 50, 75, 100] as const;
const group = (kind: Partial<GroupKind>, delayMs: number): GroupKind => ({
  protocol: 'multi-paxos',
  payload: 'statements',
  commitPoint: 'piggyback',
  groupCommit: 'gather',
  level: null,
  replicas: 3,
  ...kind,
  delayMs,
});

export async function measurePapers(options: PapersOptions, shell: Shell): Promise<PapersRun> {
  const machine = describeMachine();
  const startedAt = new Date().toISOString();
  const { commit } = await versionOf(ownCheckout);
  const root = await mkdtemp(join(tmpdir(), 'barista-papers-'));
  const bench = new PapersBench(options, root, shell);
  try {
    await writeYcsbScripts(root);
    const has = (part: PaperPart): boolean => options.parts.includes(part);
    const tpcc = has('tpcc') ? await bench.tpcc() : [];
    const commitPoint = has('commit-point') ? await bench.commitPoint() : [];
    const overhead = has('overhead') ? await bench.overhead() : [];
    const ofLevels = has('levels') ? await bench.levels() : [];
    const tookSeconds = (performance.now() - shell.startedMs) / 1000;
    return {
      machine,
      commit,
      startedAt,
      tookSeconds,
      options,
      scale,
      tpcc,
      commitPoint,
      overhead,
      levels: ofLevels,
    };
  } finally {
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** As much of a group as one PostgreSQL has, too. */
type Running = Pick<PaperGroup, 'client' | 'doors'> & { readonly group: PaperGroup | null };

class PapersBench {
  private readonly options: PapersOptions;
  private readonly root: string;
  private readonly shell: Shell;
  private started = 0;

  constructor(options: PapersOptions, root: string, shell: Shell) {
    this.options = options;
    this.root = root;
    this.shell = shell;
  }

  /** barista.txt, tables 1 to 3. */
  async tpcc(): Promise<readonly TpccResult[]> {
    const { delaysMs, seconds } = this.options;
    const results: TpccResult[] = [];
    const subjects = (delayMs: number): readonly Subject[] => [
      group({ protocol: 'paxos', replicas: 5 }, delayMs),
      group({ replicas: 5 }, delayMs),
      group({ payload: 'wal', replicas: 5 }, delayMs),
    ];
    for (const [subject, delayMs] of this.withPlain(delaysMs, subjects)) {
      const figures = await this.with(subject, delayMs, async (running) => {
        const { signal } = this.shell;
        await loadTpccInPieces(await running.client(), scale, this.root, signal);
        await running.group?.settled();
        return runTpccTimes(
          await running.doors(),
          { clients: terminals, seconds: seconds * tpccTimesAsLong, scale },
          signal,
        );
      });
      results.push({ subject, delayMs, figures });
      this.shell.progress(`TPC-C, ${subjectLabel(subject)}: ${figures.transactions} transactions`);
    }
    return results;
  }

  /** low-overhead-paxos-replication.txt, figures 4 to 7. */
  commitPoint(): Promise<readonly YcsbResult[]> {
    const kinds = ['piggyback', 'synchronous', 'asynchronous'] as const;
    const groupCommits = ['gather', 'adaptive'] as const;
    const subjects = (delayMs: number): readonly Subject[] =>
      kinds.flatMap((commitPoint) =>
        groupCommits.map((groupCommit) => group({ payload: 'wal', commitPoint, groupCommit }, delayMs)),
      );
    const each = this.options.delaysMs.flatMap((delayMs) =>
      subjects(delayMs).map((subject) => [subject, delayMs] as const),
    );
    return this.ycsb(each, [100], this.options.clients);
  }

  /** clouddbappliance.txt, figures 6 and 7; two copies are three replicas here, for two cannot be safe without a third vote. */
  overhead(): Promise<readonly YcsbResult[]> {
    const subjects = (delayMs: number): readonly Subject[] => [
      group({ replicas: 1 }, delayMs),
      group({}, delayMs),
      group({ protocol: 'paxos' }, delayMs),
      group({ payload: 'wal', replicas: 1 }, delayMs),
      group({ payload: 'wal' }, delayMs),
    ];
    return this.ycsb(this.withPlain(this.options.delaysMs, subjects), [50], this.options.clients);
  }

  /** h-store-replication.txt, figures 1 to 4: one copy, and two. */
  levels(): Promise<readonly YcsbResult[]> {
    const subjects = [2, 3].flatMap((replicas) =>
      levels.map((level) => [group({ protocol: 'primary', level, replicas }, 0), 0] as const),
    );
    return this.ycsb(subjects, levelUpdates, [levelClients]);
  }

  private withPlain(
    delaysMs: readonly number[],
    subjects: (delayMs: number) => readonly Subject[],
  ): readonly (readonly [Subject, number])[] {
    return [
      [null, 0],
      ...delaysMs.flatMap((delayMs) => subjects(delayMs).map((subject) => [subject, delayMs] as const)),
    ];
  }

  private async ycsb(
    subjects: readonly (readonly [Subject, number])[],
    shares: readonly number[],
    clients: readonly number[],
  ): Promise<readonly YcsbResult[]> {
    const runs = shares.flatMap((updates) => clients.map((count) => [updates, count] as const));
    const results: YcsbResult[] = [];
    for (const [subject, delayMs] of subjects) {
      await this.with(subject, delayMs, async (running) => {
        await loadYcsb(running, ycsbScale);
        await running.group?.settled();
        for (const [updates, count] of runs) {
          const before = (await running.group?.costs()) ?? null;
          const figures = await this.runYcsb(await running.doors(), updates, count);
          const after = (await running.group?.costs()) ?? null;
          const costs =
            before === null || after === null ? null : costsOfOne(before, after, figures.transactions);
          results.push({ subject, delayMs, updates, clients: count, figures, costs });
          this.shell.progress(
            `YCSB with ${updates} % updates, ${count} clients, ${subjectLabel(subject)}: ${figures.tps.toFixed(0)}/s`,
          );
        }
      });
    }
    return results;
  }

  private runYcsb(doors: readonly SqlTarget[], updates: number, clients: number): Promise<LoadFigures> {
    const mix = [
      ['update', updates],
      ['read', 100 - updates],
    ] as const;
    const argsOf = (part: number, threads: number): readonly string[] => [
      ...ycsbMixArgs(
        mix.filter(([, share]) => share > 0),
        this.root,
        ycsbScale,
      ),
      '--no-vacuum',
      '--protocol=simple',
      `--client=${part}`,
      `--jobs=${Math.min(part, threads)}`,
      `--time=${this.options.seconds}`,
    ];
    return runScripts(doors, { clients, directory: this.root, argsOf }, this.shell.signal);
  }

  /** From nothing, and gone behind it. */
  private async with<T>(
    subject: Subject,
    delayMs: number,
    work: (running: Running) => Promise<T>,
  ): Promise<T> {
    const { signal, progress } = this.shell;
    signal.throwIfAborted();
    progress(`starting ${subjectLabel(subject)}${delayMs === 0 ? '' : `, ${delayMs} ms apart`}`);
    this.started += 1;
    const root = join(this.root, `group${this.started}`);
    await mkdir(root);
    try {
      if (subject === null) return await this.withPostgres(root, work);
      const group = await startPaperGroup(subject, root);
      try {
        return await work({ ...group, group });
      } finally {
        await group.stop();
      }
    } finally {
      await rm(root, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  private async withPostgres<T>(root: string, work: (running: Running) => Promise<T>): Promise<T> {
    // The standby is not asked for anything: one is the least that is started.
    const native = await startNative({ root, port: await freePorts(3), settings: {}, standbys: 1 });
    try {
      return await work({
        client: () => native.plain.client(),
        doors: () => native.plain.doors(),
        group: null,
      });
    } finally {
      await native.stop();
    }
  }
}

const orders = { 'multi-paxos': 'Multi-Paxos', paxos: 'Paxos', primary: 'Primary' } as const;

export function subjectLabel(subject: Subject): string {
  if (subject === null) return 'one PostgreSQL';
  const { protocol, payload, commitPoint, groupCommit, level, replicas } = subject;
  if (level !== null) return `${level}, ${replicas === 2 ? 'one copy' : `${replicas - 1} copies`}`;
  const order = orders[protocol];
  const what = payload === 'wal' ? 'WAL' : 'statements';
  const told = commitPoint === 'piggyback' ? '' : `, commit point ${commitPoint}`;
  const gathered = groupCommit === 'gather' ? '' : ', adaptive groups';
  return `${order}, ${what}, ${replicas} replica${replicas === 1 ? '' : 's'}${told}${gathered}`;
}
