/**
 * `npm run bench -- gateway`: what the SQL gateway costs, against a pipe that looks at nothing and against PostgreSQL without either.
 *
 * Responsible for: rounds, one system after the other, so that a busy machine disturbs all alike. Reports transactions per second and the CPU time that Node spent for one.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startTestPostgres, type TestPostgres } from '../../server/src/gateways/pgwire/testing/postgres.ts';
import { pgbench } from '../cluster/pg-tools.ts';
import { ratePerSecond, spread } from './summary.ts';

export interface GatewayBenchOptions {
  readonly seconds: number;
  readonly rounds: number;
  readonly clients: readonly number[];
  /** pgbench's own, such as `--select-only`, or `--builtin=tpcb-like`. */
  readonly workload: string;
  /** `simple`, `extended` or `prepared`. */
  readonly protocol: string;
}

export interface GatewayRow {
  readonly system: 'direct' | 'pipe' | 'gateway';
  readonly clients: number;
  readonly ratesPerSecond: readonly number[];
  /** User and system time of the Node process; none without one. */
  readonly cpuUs: readonly number[];
}

interface Door {
  readonly process: ChildProcess;
  readonly port: number;
}

const doorProgram = fileURLToPath(new URL('gateway-door.ts', import.meta.url));
const scale = 10;

export async function runGatewayBench(
  options: GatewayBenchOptions,
  progress: (line: string) => void,
): Promise<readonly GatewayRow[]> {
  const pg = await startTestPostgres({ synchronous_commit: 'off', shared_buffers: '256MB' });
  const doors: Door[] = [];
  try {
    progress(`loading scale ${scale}`);
    await bench(pg.port, [`host=${pg.socketDir}`, '--initialize', '--quiet', `--scale=${scale}`]);
    const pipe = await openDoor('pipe', pg);
    doors.push(pipe);
    const gateway = await openDoor('gateway', pg);
    doors.push(gateway);
    const rows: GatewayRow[] = [];
    for (const clients of options.clients) {
      const systems = { direct: null, pipe, gateway } as const;
      rows.push(...(await measure(systems, pg, { ...options, clients }, progress)));
    }
    return rows;
  } finally {
    for (const door of doors) door.process.kill();
    await pg.stop();
  }
}

export function gatewayTable(rows: readonly GatewayRow[]): string {
  const lines = rows.map(({ system, clients, ratesPerSecond, cpuUs }) => {
    const rate = spread(ratesPerSecond);
    const cpu = cpuUs.length === 0 ? '' : describeCpu(spread(cpuUs));
    return `${system.padEnd(8)} ${String(clients).padStart(3)} clients ${rate.median.toFixed(0).padStart(8)}/s${cpu}`;
  });
  return lines.join('\n');
}

function describeCpu({ min, median, max }: { min: number; median: number; max: number }): string {
  const [low, middle, high] = [min, median, max].map((us) => us.toFixed(1));
  return `   ${middle} us of CPU each (${low} to ${high})`;
}

async function measure(
  systems: Readonly<Record<GatewayRow['system'], Door | null>>,
  pg: TestPostgres,
  options: Omit<GatewayBenchOptions, 'clients'> & { readonly clients: number },
  progress: (line: string) => void,
): Promise<GatewayRow[]> {
  const { clients, seconds, rounds, workload, protocol } = options;
  const names = ['direct', 'pipe', 'gateway'] as const;
  const rows = names.map((system) => ({
    system,
    clients,
    ratesPerSecond: [] as number[],
    cpuUs: [] as number[],
  }));
  const load = [workload, '--no-vacuum', `--protocol=${protocol}`, `--client=${clients}`, '--jobs=1'];
  for (let round = 0; round <= rounds; round++) {
    for (const row of rows) {
      const door = systems[row.system];
      const before = door === null ? null : await cpuUsOf(door);
      const where = door === null ? [`host=${pg.socketDir}`] : [];
      const output = await bench(door?.port ?? pg.port, [
        ...where,
        ...load,
        `--time=${round === 0 ? 1 : seconds}`,
      ]);
      const transactions = Number(/actually processed: (\d+)/.exec(output)?.[1]);
      const cpuUs = door === null || before === null ? null : ((await cpuUsOf(door)) - before) / transactions;
      // The first round warms up.
      if (round === 0) continue;
      const rate = ratePerSecond(output);
      row.ratesPerSecond.push(rate);
      if (cpuUs !== null) row.cpuUs.push(cpuUs);
      const cpu = cpuUs === null ? '' : `, ${cpuUs.toFixed(1)} us`;
      progress(`round ${round}, ${clients} clients, ${row.system}: ${rate.toFixed(0)}/s${cpu}`);
    }
  }
  return rows;
}

async function openDoor(kind: 'pipe' | 'gateway', pg: TestPostgres): Promise<Door> {
  const process = fork(doorProgram, [kind, pg.socketPath], { execArgv: ['--import', 'tsx'] });
  const { port } = await nextMessage<{ readonly port: number }>(process);
  return { process, port };
}

async function cpuUsOf({ process }: Door): Promise<number> {
  const answer = nextMessage<{ readonly cpu: NodeJS.CpuUsage }>(process);
  process.send({});
  const { cpu } = await answer;
  return cpu.user + cpu.system;
}

function nextMessage<T>(process: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    process.once('message', (message) => resolve(message as T));
    process.once('exit', () => reject(new Error('the process in between has ended')));
  });
}

/** `host=` among the arguments stands for a socket's directory. */
async function bench(port: number, args: readonly string[]): Promise<string> {
  const [first = '', ...rest] = args;
  const socket = first.startsWith('host=') ? first.slice('host='.length) : null;
  const own = socket === null ? args : [`--host=${socket}`, ...rest];
  const { code, stdout, stderr } = await pgbench(port, own);
  if (code !== 0) throw new Error(`pgbench failed with exit code ${code}:\n${stderr}`);
  return stdout;
}
