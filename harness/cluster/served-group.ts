/**
 * A group as operators run one: a configuration file each, `barista init` on the first, `barista serve` on all, and no demo around them.
 *
 * Responsible for: files, processes, and what replicas say over HTTP. Judges nothing.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import type { ReplicaConfigInput } from '../../server/src/config/config-schema.ts';
import { bearer } from '../../server/src/main/admin-token.ts';
import { childrenOf, isAlive, signalAll } from '../nemesis/processes.ts';
import { freePorts } from '../../server/src/adapters/testing/ports.ts';
import { BIN, isWhole } from './local-cluster.ts';

const HOST = '127.0.0.1';
const PORTS_EACH = 4;
const IDS = ['r1', 'r2', 'r3'] as const;
const settleMs = 240_000;
const lookMs = 50;
const answerMs = 5000;

/** What members have besides names, places and ports. */
export type CommonSettings = Pick<
  ReplicaConfigInput,
  'payload' | 'snapshot' | 'bounds' | 'verify' | 'postgres' | 'archive' | 'backup'
> & {
  /** For its clients, of SQL and of Thrift. */
  readonly clientTls?: NonNullable<ReplicaConfigInput['pgwire']['tls']>;
  readonly isThriftServed?: boolean;
};

export interface GroupOptions {
  readonly settings: CommonSettings;
  /** What this member has otherwise. `root`: a directory of the group's own. */
  readonly each?: (id: string, root: string) => CommonSettings;
  /** Done before anything is founded, such as the mounting of a disk. */
  readonly prepare?: (group: ServedGroup) => Promise<void>;
  /** The command that founds the group on its first member, without `--config`; default: `init`. */
  readonly founding?: readonly string[];
  /** Another build of the command that founds the group and serves. */
  readonly bin?: string;
  /** Whether replicas show each other certificates, as the command makes them. */
  readonly tls?: boolean;
}

/** What a command has said, and how it ended. */
export interface CommandResult {
  readonly code: number;
  readonly output: string;
}

export class ServedGroup {
  readonly ids: readonly string[] = IDS;
  readonly secret = 'a secret of the cluster';
  readonly root: string;
  private readonly basePort: number;
  private readonly tls: boolean;
  private readonly running = new Map<string, ChildProcess>();

  /** Resolves when all three vote and serve. */
  static found(
    settings: CommonSettings,
    options: Pick<GroupOptions, 'bin' | 'tls'> = {},
  ): Promise<ServedGroup> {
    return ServedGroup.create({ settings, ...options });
  }

  /** Resolves when all three vote and serve. */
  static async create({
    settings,
    each,
    prepare,
    founding,
    bin = BIN,
    tls = false,
  }: GroupOptions): Promise<ServedGroup> {
    const root = await mkdtemp(join(tmpdir(), 'barista-served-'));
    const group = new ServedGroup(root, await freePorts(IDS.length * PORTS_EACH), tls);
    for (const id of IDS) {
      await mkdir(group.dataDir(id));
      await group.configure(id, { ...settings, ...each?.(id, root) });
    }
    try {
      await prepare?.(group);
      const done = async (words: readonly string[], by: string): Promise<void> => {
        const { code, output } = await runBarista([...words, '--config', group.configFile(IDS[0])], by);
        if (code !== 0) throw new Error(output);
      };
      if (tls) await done(['certificates', '--directory', group.certificates], BIN);
      await done(founding ?? ['init'], bin);
      for (const id of IDS) group.start(id, bin);
      await group.settled();
    } catch (error) {
      await group.stop();
      throw error;
    }
    return group;
  }

  private constructor(root: string, basePort: number, tls: boolean) {
    this.root = root;
    this.tls = tls;
    this.basePort = basePort;
  }

  dataDir(id: string): string {
    return join(this.root, id);
  }

  /** For its next life. */
  async configure(id: string, settings: CommonSettings): Promise<void> {
    await writeFile(this.configFile(id), JSON.stringify(this.configOf(id, settings)));
  }

  /** An operator's command about this member. */
  barista(id: string, words: readonly string[]): Promise<CommandResult> {
    return runBarista([...words, '--config', this.configFile(id)], BIN);
  }

  configFile(id: string): string {
    // As every document of JSON is one of YAML.
    return join(this.root, `${id}.yaml`);
  }

  private get certificates(): string {
    return join(this.root, 'certificates');
  }

  get pgwirePorts(): readonly number[] {
    return this.ids.map((id) => this.pgwirePort(id));
  }

  pgwirePort(id: string): number {
    return this.basePort + IDS.findIndex((each) => each === id);
  }

  thriftPort(id: string): number {
    return this.pgwirePort(id) + 3 * IDS.length;
  }

  private configOf(
    id: string,
    { clientTls, isThriftServed = false, ...settings }: CommonSettings,
  ): ReplicaConfigInput {
    const file = (name: string): string => join(this.certificates, name);
    const peerTls = {
      certificate: file(`${id}.crt`),
      key: file(`${id}.key`),
      authority: file('authority.crt'),
    };
    const at = IDS.findIndex((each) => each === id);
    return {
      group: 'main',
      id,
      dataDir: this.dataDir(id),
      peers: IDS.map((peer, index) => ({
        id: peer,
        host: HOST,
        port: this.basePort + IDS.length + index,
        pgwire: { host: HOST, port: this.basePort + index },
      })),
      peerListen: { port: this.basePort + IDS.length + at },
      clusterSecret: this.secret,
      ...(this.tls ? { peerTls } : {}),
      pgwire: { port: this.basePort + at, ...(clientTls === undefined ? {} : { tls: clientTls }) },
      ...(isThriftServed ? { thrift: { port: this.thriftPort(id) } } : {}),
      http: { port: this.httpPort(id) },
      bootstrap: { password: 'barista' },
      ...settings,
    };
  }

  private httpPort(id: string): number {
    return this.pgwirePort(id) + 2 * IDS.length;
  }

  isRunning(id: string): boolean {
    return this.running.has(id);
  }

  start(id: string, bin = BIN): void {
    const log = openSync(join(this.root, `${id}.log`), 'a');
    const args = [bin, 'serve', '--config', this.configFile(id)];
    this.running.set(id, spawn(process.execPath, args, { stdio: ['ignore', log, log] }));
    closeSync(log);
  }

  /** As a supervisor stops it. Returns the exit code. */
  async end(id: string): Promise<number | null> {
    const child = this.running.get(id);
    this.running.delete(id);
    await endOf(child, 'SIGTERM');
    return child?.exitCode ?? null;
  }

  /** As when its machine is lost: the process and its PostgreSQL are gone at once. The disk stays. */
  async kill(id: string): Promise<void> {
    const child = this.running.get(id);
    this.running.delete(id);
    await endOf(child, 'SIGKILL');
    const pid = await this.postmaster(id);
    if (pid !== null) signalAll([pid], 'SIGKILL');
  }

  /** As when the power goes: all processes of all members, at once. Resolves with their number when none is left. */
  async killAll(): Promise<number> {
    const mains = await Promise.all([...this.running.keys()].map((id) => this.postmaster(id)));
    const databases = mains.filter((pid) => pid !== null);
    const children = (await Promise.all(databases.map((pid) => childrenOf(pid)))).flat();
    const nodes = [...this.running.values()];
    const ended = nodes.map((child) => endOf(child, 'SIGKILL'));
    const pids = [...databases, ...children];
    signalAll(pids, 'SIGKILL');
    this.running.clear();
    await Promise.all(ended);
    while (pids.some(isAlive)) await sleep(lookMs);
    return nodes.length + pids.length;
  }

  /** The main process of its PostgreSQL; null: there is none. */
  async postmaster(id: string): Promise<number | null> {
    const note = join(this.dataDir(id), 'postgres', 'data', 'postmaster.pid');
    const pid = Number((await readFile(note, 'utf8').catch(() => '')).split('\n', 1)[0]);
    return pid > 0 ? pid : null;
  }

  /** The process of a replica that runs. */
  processOf(id: string): number | null {
    return this.running.get(id)?.pid ?? null;
  }

  /** Ctrl-C for one; the data stays. Resolves with its exit code. */
  async interrupt(id: string): Promise<number | null> {
    const child = this.running.get(id);
    this.running.delete(id);
    await endOf(child, 'SIGINT');
    return child?.exitCode ?? null;
  }

  /** Of a replica that is down: one of its folders, or everything. */
  async wipe(id: string, folder = '.'): Promise<void> {
    await rm(join(this.dataDir(id), folder), { recursive: true, maxRetries: 5 });
  }

  /** Any answer of its HTTP gateway to an operator; null if it gives none. */
  ask(id: string, path: string): Promise<Response | null> {
    const url = `http://${HOST}:${this.httpPort(id)}${path}`;
    return fetch(url, { headers: bearer(this.secret), signal: AbortSignal.timeout(answerMs) }).catch(
      () => null,
    );
  }

  async status(id: string): Promise<ReplicaStatus | null> {
    const response = await this.ask(id, '/api/status');
    return response === null ? null : ((await response.json()) as ReplicaStatus);
  }

  async leader(): Promise<string> {
    return this.until('a leader', (statuses) => statuses.find(({ role }) => role === 'leader')?.id);
  }

  /** Those that run vote and serve, and all are connected with each other; under load, too. */
  async whole(): Promise<readonly ReplicaStatus[]> {
    return this.until('every replica to vote, to serve and to be connected', (statuses) => {
      const isAll = statuses.length === this.running.size && statuses.every(isWhole);
      return isAll && statuses.every(({ peers }) => peers.every((peer) => peer.connected))
        ? statuses
        : undefined;
    });
  }

  /** Those that run vote, serve, and have applied the same. */
  async settled(): Promise<readonly ReplicaStatus[]> {
    return this.until('every replica to have applied everything', (statuses) => {
      const pointers = new Set(statuses.flatMap((each) => [each.commitPoint, each.applicationPointer]));
      const isAll = statuses.length === this.running.size && statuses.every(isWhole);
      return isAll && pointers.size === 1 ? statuses : undefined;
    });
  }

  private async until<T>(what: string, test: (statuses: ReplicaStatus[]) => T | undefined): Promise<T> {
    const deadline = Date.now() + settleMs;
    for (;;) {
      const answers = await Promise.all([...this.running.keys()].map((id) => this.status(id)));
      const found = test(answers.filter((status) => status !== null));
      if (found !== undefined) return found;
      if (Date.now() > deadline)
        throw new Error(`waited ${settleMs} ms for ${what}: ${JSON.stringify(answers)}`);
      await sleep(lookMs);
    }
  }

  /** Ctrl-C for all that run; the data goes, unless it is wanted. */
  async stop(keep = false): Promise<void> {
    await Promise.all([...this.running.values()].map((child) => endOf(child, 'SIGINT')));
    if (!keep) await rm(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function endOf(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}

function runBarista(words: readonly string[], bin: string): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(process.execPath, [bin, ...words], (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, output: `${stdout}${stderr}`.trim() });
    });
  });
}
