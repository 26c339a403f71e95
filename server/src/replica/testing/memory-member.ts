/**
 * One machine of a group in memory: a disk for the replica's log, a model of PostgreSQL, and one life of the replica's process after another (member-process.ts), in simulated time. It can lose what a machine can.
 *
 * Responsible for: the lives of the replica's process, of PostgreSQL and of the machine, and what survives each. What a replica does is the product's own code.
 */
import type { IdleTimer } from '../../adapters/segment-log/group-writer.ts';
import {
  createSegmentLogOn,
  openSegmentLogOn,
  type SegmentLogOptions,
} from '../../adapters/segment-log/segment-log-on.ts';
import { SimulatedDisk } from '../../adapters/segment-log/testing/simulated-disk.ts';
import type { TraceEvent } from '../../api/events.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import { memberName } from '../../multipaxos/configuration.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { ModelArchiveDisk } from '../../payload/wal/testing/model-archive.ts';
import {
  ModelPostgres,
  type Became,
  type ModelPostgresOptions,
} from '../../payload/wal/testing/model-postgres.ts';
import type { LogStore, NewLog } from '../../ports/log-store.ts';
import { nameOf } from '../../ports/testing/name-of.ts';
import type { Random } from '../../ports/testing/random.ts';
import { ProcessTime, type SimulatedTime } from '../../ports/testing/simulated-time.ts';
import type { Replica } from '../replica.ts';
import { testGroup } from './configurations.ts';
import { MemberProcess } from './member-process.ts';
import { watchedLog, type MemberWatch } from './member-watch.ts';
import type { MemoryNetwork } from './memory-network.ts';

export const testCluster = 'c';

export interface MemberOptions {
  readonly config: ReplicaConfig;
  readonly time: SimulatedTime;
  /** Of the group; no two events have the same. */
  readonly nowUs: () => number;
  readonly random: Random;
  readonly network: MemoryNetwork;
  /** Of the log. */
  readonly segmentBytes?: number;
  readonly postgres: Omit<ModelPostgresOptions, 'time' | 'random'>;
  readonly onFatal: (error: Error) => void;
  /** Of everything that it tells; without, what comes often is not told. */
  readonly onEvent?: (event: TraceEvent) => void;
  /** A life of its process begins, and has ended. */
  readonly onStarted?: (process: MemberProcess) => void;
  readonly onEnded?: (process: MemberProcess) => void;
  /** It keeps an archive of chosen WAL. */
  readonly archives: boolean;
  /** Null: nobody watches. */
  readonly watch: MemberWatch | null;
  /** Set to see what replicas say. */
  readonly logLevel?: string;
}

/** So small that a short run fills many. */
const defaultSegmentBytes = 16 * 1024;

const rolesFor: Readonly<Record<Became, readonly string[]>> = {
  standby: ['standby'],
  primary: ['founder', 'primary'],
  promoted: ['promoting'],
};
const saidOf: Readonly<Record<Became, string>> = {
  standby: 'started as a standby',
  primary: 'started as a primary',
  promoted: 'promoted',
};

export class MemoryMember {
  readonly id: ReplicaId;
  readonly postgres: ModelPostgres;
  process: MemberProcess | null = null;
  readonly logDisk: SimulatedDisk;
  /** On another disk than all else; null: none. */
  readonly archive: { readonly disk: ModelArchiveDisk; readonly random: Random } | null;
  private readonly options: MemberOptions;
  private lives = 0;
  /** The log says that it has this many bytes; null: as it is. */
  logBytesSaid: number | null = null;

  constructor(options: MemberOptions) {
    this.options = options;
    const { config, time, random, postgres } = options;
    this.id = config.id;
    this.postgres = new ModelPostgres({
      ...postgres,
      onBecomes: (what) => this.becomes(what),
      time,
      random: random.fork(),
    });
    this.logDisk = new SimulatedDisk({ random: random.fork() });
    this.archive = options.archives ? { disk: new ModelArchiveDisk(), random: random.fork() } : null;
  }

  /** What the directory durably says of itself must allow for what is in it, whenever all dies. */
  private becomes(what: Became): void {
    const role = this.postgres.disk.state?.role.kind ?? 'nothing';
    if (!rolesFor[what].includes(role))
      this.postgres.trouble(`PostgreSQL is ${saidOf[what]} in a directory that says it is ${role}`);
  }

  get replica(): Replica | null {
    return this.process?.assembled?.replica ?? null;
  }

  get config(): ReplicaConfig {
    return this.options.config;
  }

  /** What its log may come to before it lets go of what others want. */
  get logBytesMax(): number {
    return this.config.bounds.logBytesMax;
  }

  get isRunning(): boolean {
    return this.process !== null;
  }

  async found(configuration: Configuration): Promise<void> {
    const identity = { cluster: testCluster, member: memberName(this.id, 1) };
    const newLog = { identity, configuration, base: 0 as Slot, promised: ballotNone };
    await (await this.openLog(new ProcessTime(this.options.time), { newLog })).close();
  }

  /** Makes a new one first, if that is given. Opening takes time only if `isSlow`; what is done with the log always does. */
  private async openLog(
    timers: ProcessTime,
    { newLog, isSlow = false }: { readonly newLog?: NewLog; readonly isSlow?: boolean },
  ): Promise<LogStore> {
    let takesTime = isSlow;
    const directory = this.logDisk.open(timers, () => takesTime);
    const options: SegmentLogOptions = {
      group: testGroup,
      segmentBytes: this.options.segmentBytes ?? defaultSegmentBytes,
      startIdleTimer: (ms, work) => idleTimer(timers, ms, work),
      logId: String(this.options.random.below(2 ** 30)),
    };
    const log = await (newLog === undefined
      ? openSegmentLogOn(directory, options)
      : createSegmentLogOn(directory, options, newLog));
    takesTime = true;
    const { watch } = this.options;
    if (watch === null) return log;
    watch.logOpens(log.identity.member, log.recovered, newLog !== undefined);
    return watchedLog(log, watch);
  }

  // -------------------------------------------------------------------------------------------------- its lives

  /** `isSlow`: it is up some time after this resolves, when its log is open; else at once. */
  async start({ isSlow = false } = {}): Promise<void> {
    if (this.process !== null) throw new Error(`${this.id} runs already`);
    const { config, time, nowUs, random, network, logLevel = 'silent', onEvent, onStarted } = this.options;
    this.lives += 1;
    const machine = {
      config,
      time,
      random,
      network,
      postgres: this.postgres,
      archive: this.archive,
      openLog: (...args: Parameters<MemoryMember['openLog']>) => this.openLog(...args),
      told: (log: LogStore) => this.told(log),
      fail: (failing: MemberProcess, error: Error) => this.fail(failing, error),
      logLevel,
    };
    // As long for every life as in the product: proposals are named after it, and so the log is as long.
    const run = nameOf(`${this.id} ${this.lives}`);
    const process = new MemberProcess(machine, { run, nowUs });
    this.process = process;
    if (onEvent !== undefined) process.events.subscribe(onEvent, 'all');
    onStarted?.(process);
    const opening = process.enter(isSlow).catch((error: Error) => this.fail(process, error));
    if (!isSlow) await opening;
  }

  /** Its clock goes faster or slower from now on. */
  drift(): void {
    this.process?.drift();
  }

  private fail(process: MemberProcess, error: Error): void {
    if (process.timers.dead) return;
    this.options.onFatal(error);
    if (this.process === process) this.crash();
  }

  /** What its log has, for somebody who looks on from outside the world: nothing that happens depends on it, if time stands still meanwhile. */
  async lookedInto<T>(read: () => Promise<T>): Promise<T> {
    this.logDisk.isLookedInto = true;
    try {
      return await read();
    } finally {
      this.logDisk.isLookedInto = false;
    }
  }

  private told(log: LogStore): LogStore {
    return { ...log, stats: () => ({ ...log.stats(), bytes: this.logBytesSaid ?? log.stats().bytes }) };
  }

  /** kill -9 of the replica's process. Its PostgreSQL is stopped a little later, by what watches over both. */
  crash(): void {
    const { process } = this;
    if (process === null) return;
    this.ended(process);
    this.options.network.died(this.id);
    this.logDisk.crashProcess();
    this.postgres.orphaned();
  }

  /** kill -9; all that its log has is there, and sealed, when this resolves. */
  async crashSealed(): Promise<void> {
    this.crash();
    await (await this.openLog(new ProcessTime(this.options.time), {})).close();
  }

  /** The power fails. */
  crashMachine(): void {
    this.crash();
    this.logDisk.crashMachine();
    this.postgres.die(null);
    this.postgres.disk.crash(this.options.random);
  }

  /** What is lost of a replica that does not run. */
  lose(what: 'log' | 'database' | 'both'): void {
    if (what !== 'database') this.logDisk.wipe();
    if (what === 'log') return;
    this.postgres.die(null);
    this.postgres.disk.wipe();
  }

  /** In order. Resolves when it has ended. */
  async stop(): Promise<void> {
    const { process } = this;
    if (process === null) return;
    await process.stop();
    if (this.process !== process) return;
    this.ended(process);
  }

  private ended(process: MemberProcess): void {
    this.process = null;
    process.timers.die();
    this.options.onEnded?.(process);
  }
}

function idleTimer(timers: ProcessTime, ms: number, work: () => void): IdleTimer {
  let stop = timers.after(ms, work);
  return {
    refresh() {
      stop();
      stop = timers.after(ms, work);
    },
    stop: () => stop(),
  };
}
