/**
 * A whole cluster for tests: starts `barista demo` as a user would, talks to it as the dashboard does, and leaves nothing behind.
 * With BARISTA_LOG_STORE=zookeeper its logs are in a real Apache ZooKeeper of its own.
 *
 * Responsible for: processes, ports and directories. Judges nothing.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../server/src/adapters/testing/ports.ts';
import {
  type RunningZooKeeper,
  startZooKeeper,
} from '../../server/src/adapters/zookeeper-log/testing/start-zookeeper.ts';
import {
  type ClusterStatus,
  type FaultRequest,
  forced,
  type ReplicaStatus,
} from '../../server/src/api/status.ts';

/** Longer than the demo itself waits, so that it says what it waited for. */
const startMsMax = 240_000;
const thriftOffset = 50;
const logLinesMax = 25;
const logLineCharsMax = 400;

/** BARISTA_BIN: another build of the command than that of this tree. */
export const BIN =
  process.env['BARISTA_BIN'] ?? fileURLToPath(new URL('../../bin/barista.js', import.meta.url));

export interface LocalCluster {
  readonly dataDir: string;
  readonly dashboardUrl: string;
  readonly pgwirePorts: readonly number[];
  /** Empty if they were not asked for. */
  readonly thriftPorts: readonly number[];
  /** Null if the logs are in files. */
  readonly zookeeper: RunningZooKeeper | null;
  readonly output: () => string;
  status(): Promise<ClusterStatus>;
  /** The replica that leads and serves. */
  leader(timeoutMs?: number): Promise<ReplicaStatus>;
  fault(request: FaultRequest): Promise<void>;
  /** Waits until every replica is up, votes, and has applied everything that is chosen. */
  settled(timeoutMs?: number): Promise<readonly ReplicaStatus[]>;
  /** Ctrl-C, and the exit code. The data stays. */
  interrupt(): Promise<number | null>;
  /** Ctrl-C, and the data is removed. */
  stop(): Promise<void>;
  /** The data, once the demo has ended. */
  removeFiles(): Promise<void>;
}

export interface LocalClusterOptions {
  readonly replicas?: number;
  readonly dataDir?: string;
  /** Serve Thrift clients, too. */
  readonly thrift?: boolean;
  /** First of the ports: pgwire, then Thrift (+50), peers (+100), dashboard (+200), ZooKeeper (+210). */
  readonly basePort?: number;
  readonly args?: readonly string[];
  /** Another build of the command, such as one with a planted bug. */
  readonly bin?: string;
  /** Added to the environment of the demo and its replicas. */
  readonly env?: Readonly<Record<string, string>>;
  /** It is started when one serves: others may never do, where nothing is replicated. Default: when all do. */
  readonly untilOneServes?: boolean;
  /** Default: what the environment's BARISTA_LOG_STORE says, or segment. */
  readonly logStore?: ClusterLogStore;
}

export type ClusterLogStore = 'segment' | 'zookeeper';

function logStoreOfEnvironment(): ClusterLogStore {
  const name = process.env['BARISTA_LOG_STORE'] ?? 'segment';
  if (name !== 'segment' && name !== 'zookeeper') throw new Error(`BARISTA_LOG_STORE: no log store ${name}`);
  return name;
}

export async function startCluster(options: LocalClusterOptions = {}): Promise<LocalCluster> {
  const replicas = options.replicas ?? 3;
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'barista-e2e-')));
  const port = options.basePort ?? (await freePorts(220));
  const dashboardPort = port + 200;
  const onZooKeeper = (options.logStore ?? logStoreOfEnvironment()) === 'zookeeper';
  const zookeeper = onZooKeeper ? await startZooKeeperFor(dataDir, port + 210) : null;
  const args = [
    options.bin ?? BIN,
    'demo',
    `--replicas=${replicas}`,
    `--data-dir=${dataDir}`,
    `--port=${port}`,
    `--dashboard-port=${dashboardPort}`,
    ...(options.thrift === true ? [`--thrift-port=${port + thriftOffset}`] : []),
    ...(zookeeper === null ? [] : [`--zookeeper=${zookeeper.server}`]),
    ...(options.args ?? []),
  ];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  const output: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk.toString()));
  const cluster = new Cluster(
    child,
    dataDir,
    port,
    dashboardPort,
    replicas,
    options.thrift === true,
    zookeeper,
    output,
  );
  try {
    await (options.untilOneServes === true ? cluster.leader(startMsMax) : cluster.settled(startMsMax));
  } catch (error) {
    await cluster.interrupt();
    const logs = await endsOfLogs(dataDir);
    throw new Error(`${(error as Error).message}\n${logs}`, { cause: error });
  }
  return cluster;
}

/** What the replicas wrote last: when this is read, as often as not, nothing else is left of them. */
async function endsOfLogs(dataDir: string): Promise<string> {
  const names = (await readdir(dataDir)).filter((name) => name.endsWith('.log')).toSorted();
  const ends = names.map(async (name) => {
    const lines = (await readFile(join(dataDir, name), 'utf8')).trimEnd().split('\n');
    const last = lines.slice(-logLinesMax).map((line) => line.slice(0, logLineCharsMax));
    return `The end of ${name}:\n${last.join('\n')}`;
  });
  return (await Promise.all(ends)).join('\n');
}

/** Enough for every replica's log; the rest of its data goes with the cluster's. */
/** Beside the demo's directory: a demo takes none that holds other things. */
function zooKeeperDir(dataDir: string): string {
  return `${dataDir}-zookeeper`;
}

function startZooKeeperFor(dataDir: string, port: number): Promise<RunningZooKeeper> {
  return startZooKeeper({ directory: zooKeeperDir(dataDir), port, heapMib: 1024, isMeasured: true });
}

/** It serves and votes, and no recovery is under way. Unlike `settled` this can be seen under load. */
export function isWhole({ id, state, recovery, membership }: ReplicaStatus): boolean {
  const own = membership.members.find(({ replica }) => replica === id);
  return state === 'serving' && recovery === null && own?.role === 'voter';
}

class Cluster implements LocalCluster {
  readonly dataDir: string;
  readonly dashboardUrl: string;
  readonly pgwirePorts: readonly number[];
  readonly thriftPorts: readonly number[];
  readonly zookeeper: RunningZooKeeper | null;
  readonly output: () => string;
  private readonly child: ChildProcess;
  private readonly exited: Promise<number | null>;

  constructor(
    child: ChildProcess,
    dataDir: string,
    port: number,
    dashboardPort: number,
    replicas: number,
    thrift: boolean,
    zookeeper: RunningZooKeeper | null,
    output: readonly string[],
  ) {
    this.child = child;
    this.dataDir = dataDir;
    this.zookeeper = zookeeper;
    this.dashboardUrl = `http://127.0.0.1:${dashboardPort}`;
    this.pgwirePorts = Array.from({ length: replicas }, (_, index) => port + index);
    this.thriftPorts = thrift ? this.pgwirePorts.map((each) => each + thriftOffset) : [];
    this.output = () => output.join('');
    this.exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
  }

  async status(): Promise<ClusterStatus> {
    const response = await fetch(`${this.dashboardUrl}/api/cluster`);
    return (await response.json()) as ClusterStatus;
  }

  async leader(timeoutMs = 60_000): Promise<ReplicaStatus> {
    return this.until(
      timeoutMs,
      'a serving leader',
      ({ replicas }) =>
        replicas
          .filter(({ process }) => process === 'running')
          .map(({ status }) => status)
          .find((status) => status?.role === 'leader' && status.state === 'serving') ?? undefined,
    );
  }

  /** On purpose, however many replicas are away. */
  async fault(request: FaultRequest): Promise<void> {
    const response = await fetch(`${this.dashboardUrl}/api/fault`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(forced(request)),
    });
    if (!response.ok) throw new Error(`fault ${JSON.stringify(request)}: ${await response.text()}`);
  }

  async settled(timeoutMs = 60_000): Promise<readonly ReplicaStatus[]> {
    return this.until(timeoutMs, 'every replica to have applied everything', ({ replicas }) => {
      const statuses = replicas.map(({ status, ageMs }) => (ageMs !== null && ageMs < 1500 ? status : null));
      const up = statuses.filter((status) => status !== null && isWhole(status));
      if (up.length !== this.pgwirePorts.length) return undefined;
      const pointers = new Set(up.flatMap((status) => [status!.commitPoint, status!.applicationPointer]));
      return pointers.size === 1 ? (up as ReplicaStatus[]) : undefined;
    });
  }

  private async until<T>(
    timeoutMs: number,
    what: string,
    test: (status: ClusterStatus) => T | undefined,
  ): Promise<T> {
    const deadline = Date.now() + timeoutMs;
    let last: ClusterStatus | null = null;
    while (Date.now() < deadline) {
      if (this.child.exitCode !== null) throw new Error(`the demo ended:\n${this.output()}`);
      try {
        last = await this.status();
        const found = test(last);
        if (found !== undefined) return found;
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`waited ${timeoutMs} ms for ${what}: ${JSON.stringify(last)}\n${this.output()}`);
  }

  async interrupt(): Promise<number | null> {
    this.child.kill('SIGINT');
    const code = await this.exited;
    // Last, so that the replicas can give back their locks.
    await this.zookeeper?.stop();
    return code;
  }

  async stop(): Promise<void> {
    await this.interrupt();
    await this.removeFiles();
  }

  async removeFiles(): Promise<void> {
    for (const path of [this.dataDir, zooKeeperDir(this.dataDir)]) {
      await rm(path, { recursive: true, force: true });
    }
  }
}
