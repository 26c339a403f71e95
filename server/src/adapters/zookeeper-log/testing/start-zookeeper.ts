/**
 * A real Apache ZooKeeper server of one's own, that can be killed and started again on the same data.
 *
 * Responsible for: the process, its configuration file and its output. For tests and measurements: one server, listening on loopback.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isStopped } from '../../postgres/process-identity.ts';
import { freePort } from '../../testing/ports.ts';
import { ensureZooKeeper } from './ensure-zookeeper.ts';

const START_TIMEOUT_MS = 30_000;
const POLL_MS = 20;

export interface StartZooKeeperOptions {
  /** For its data, its configuration and its log; made if missing. */
  readonly directory: string;
  /** Default: one that is free. */
  readonly port?: number;
  /** Default 100. The shortest session is two of these, and expiry is noticed once per tick. */
  readonly tickMs?: number;
  readonly heapMib?: number;
  /** Lets Java compile in earnest, which takes longer to get going. */
  readonly isMeasured?: boolean;
}

export interface RunningZooKeeper {
  readonly port: number;
  /** `host:port`, as `logStore.servers` wants it. */
  readonly server: string;
  /** SIGKILL: as a crash. */
  readonly kill: () => Promise<void>;
  /** SIGSTOP and SIGCONT: as a long pause of the Java machine. Resolves when it stands still, or goes on. */
  readonly pause: (paused: boolean) => Promise<void>;
  /** Starts it again on its data and port, after `kill`. */
  readonly restart: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Resolves when the server serves. @throws Error with the end of its output if it does not */
export async function startZooKeeper(options: StartZooKeeperOptions): Promise<RunningZooKeeper> {
  const classPath = await ensureZooKeeper();
  const port = options.port ?? (await freePort());
  const config = join(options.directory, 'zoo.cfg');
  await mkdir(join(options.directory, 'data'), { recursive: true });
  await writeFile(config, configuration(options, port));
  let child: ChildProcess | null = null;

  const start = async (): Promise<void> => {
    const output = openSync(join(options.directory, 'zookeeper.log'), 'a');
    const java = process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin', 'java') : 'java';
    const started = spawn(
      java,
      [
        `-Xmx${options.heapMib ?? 256}m`,
        ...(options.isMeasured === true ? [] : ['-XX:TieredStopAtLevel=1']),
        '-XX:+UseSerialGC',
        '-cp',
        classPath,
        'org.apache.zookeeper.server.ZooKeeperServerMain',
        config,
      ],
      { cwd: options.directory, stdio: ['ignore', output, output] },
    );
    closeSync(output);
    child = started;
    await Promise.race([
      answers(port, started),
      once(started, 'error').then(([error]) => Promise.reject(error as Error)),
    ]).catch(async (error: unknown) => {
      started.kill('SIGKILL');
      const text = await readFile(join(options.directory, 'zookeeper.log'), 'utf8').catch(() => '');
      throw new Error(`ZooKeeper does not start:\n${text.slice(-2000)}`, { cause: error });
    });
  };

  const end = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };

  await start();
  return {
    port,
    server: `127.0.0.1:${port}`,
    kill: end,
    async pause(paused) {
      const pid = child?.pid;
      if (pid === undefined) return;
      process.kill(pid, paused ? 'SIGSTOP' : 'SIGCONT');
      while (process.platform === 'linux' && isStopped(pid) !== paused) await sleep(1);
    },
    restart: async () => {
      await end();
      await start();
    },
    stop: end,
  };
}

function configuration({ directory, tickMs }: StartZooKeeperOptions, port: number): string {
  return [
    `dataDir=${join(directory, 'data')}`,
    `clientPort=${port}`,
    'clientPortAddress=127.0.0.1',
    `tickTime=${tickMs ?? 100}`,
    'maxSessionTimeout=600000',
    'maxClientCnxns=0',
    'admin.enableServer=false',
    'enforceQuota=true',
    '4lw.commands.whitelist=ruok',
    '',
  ].join('\n');
}

/** Until it says `imok`, which it does when it serves. */
async function answers(port: number, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
    if (await isOk(port)) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error('no answer');
}

function isOk(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    let text = '';
    socket.on('connect', () => socket.write('ruok'));
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('error', () => resolve(false));
    socket.on('close', () => resolve(text === 'imok'));
    socket.setTimeout(1000, () => socket.destroy());
  });
}
