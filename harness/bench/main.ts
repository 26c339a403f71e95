/**
 * `npm run bench -- compare|budget|gateway|log|cluster [options]`: measures, and says on what and how to measure it again.
 *
 * Responsible for: the command line and the report. Exit codes: 0 measured, 1 a run failed, 2 wrong option.
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { BenchError } from './bench-error.ts';
import { budgetCommand } from './budget/command.ts';
import { compareCommand } from './compare/command.ts';
import { workloadLabels, type WorkloadName as ComparedWorkload } from './compare/loads/workloads.ts';
import { runClusterBench, workloadNames, type WorkloadName } from './cluster-bench.ts';
import { gatewayTable, runGatewayBench } from './gateway-bench.ts';
import { logLine, runLogBench } from './log-bench.ts';
import { describeMachine, machineLines } from './machine.ts';
import { table } from './summary.ts';

const comparedNames = Object.keys(workloadLabels) as readonly ComparedWorkload[];

const help = `npm run bench -- COMMAND [options]

Commands:
  compare    three replicas against one PostgreSQL and against one with two synchronous standbys: UPDATE, TPC-B, YCSB A and B and SELECT by pgbench, TPC-C,
             COPY, CPU, an idle cluster, and the time without service after a kill -9 of the leader; in some 30 minutes
  budget     where a transaction's processor time goes, stage by stage, beside what each stage's system calls alone would cost; flame graphs with --flames
  gateway    the SQL gateway, against a pipe that looks at nothing and against PostgreSQL without either
  log        appends to the log store, against a plain loop of write and fdatasync
  cluster    pgbench: one plain PostgreSQL against three replicas on this machine, in interleaved rounds

Options:
  --seconds N        how long one run takes (default: 5; 3 for log; as --quick allows)
  --json FILE        write the figures as JSON, too
  --rounds N         compare, cluster, gateway: rounds (default: 5, 3 and 3; 3 with --quick)
  --scale N          compare, cluster, budget: pgbench's scale, 100,000 accounts each (default: 10)
  --quick            compare: pgbench only, in less than three minutes
  --checkout DIR     compare: measure the replicas of another checkout, in which "npm ci" and "npm run build:server" were run
  --only LIST        compare: these workloads only, of ${comparedNames.join(', ')}
  --direct           compare: also clients at the socket of the leader's PostgreSQL, past the gateway
  --patient          compare: repeat runs during which others kept the machine busy
  --failovers N      compare: how often the leader is killed (default: 50; none with --quick)
  --before FILE      compare: show the figures of an earlier --json beside these
  --directory DIR    log: on the disk to measure (default: the system's temporary directory)
  --store NAME       log: segment, or zookeeper to measure that one, too; needs Java and Maven (default: segment)
  --bytes N          log: size of an entry (default: 1024)
  --clients LIST     cluster, gateway: numbers of clients (default: 1,8,32); budget: one number (default: 16)
  --flames DIR       budget: write a flame graph (SVG) of each replica's main thread there
  --workloads LIST   cluster: of ${workloadNames.join(', ')} (default: all)
  --help

All but "log" need psql and pgbench; "cluster" needs "npm run build:server" before it and takes about ten minutes. Figures of a busy
machine are worth nothing, and three replicas on one machine share what hosts of their own would not.`;

class UsageError extends Error {
  override readonly name = 'UsageError';
}

const options = {
  seconds: { type: 'string' },
  json: { type: 'string' },
  directory: { type: 'string', default: tmpdir() },
  bytes: { type: 'string', default: '1024' },
  store: { type: 'string', default: 'segment' },
  rounds: { type: 'string' },
  quick: { type: 'boolean', default: false },
  checkout: { type: 'string' },
  only: { type: 'string' },
  direct: { type: 'boolean', default: false },
  patient: { type: 'boolean', default: false },
  failovers: { type: 'string' },
  before: { type: 'string' },
  clients: { type: 'string' },
  flames: { type: 'string' },
  workloads: { type: 'string', default: workloadNames.join(',') },
  scale: { type: 'string', default: '10' },
  help: { type: 'boolean', default: false },
} as const;

function parse() {
  try {
    return parseArgs({ args: process.argv.slice(2), options, allowPositionals: true });
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause });
  }
}
type Values = ReturnType<typeof parse>['values'];

function whole(option: string, text: string, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > max) {
    throw new UsageError(`--${option} must be a whole number from 1 to ${max}, not "${text}"`);
  }
  return value;
}

function workload(text: string): WorkloadName {
  const found = workloadNames.find((name) => name === text);
  if (found === undefined)
    throw new UsageError(`--workloads: "${text}" is none of ${workloadNames.join(', ')}`);
  return found;
}

function compared(text: string): ComparedWorkload {
  const found = comparedNames.find((name) => name === text.trim());
  if (found === undefined) throw new UsageError(`--only: "${text}" is none of ${comparedNames.join(', ')}`);
  return found;
}

function typed(): string {
  return `npm run bench -- ${process.argv.slice(2).join(' ')}`;
}

function report(values: Values, figures: object): void {
  const command = typed();
  console.log(`\nto repeat   ${command}`);
  if (values.json === undefined) return;
  writeFileSync(values.json, `${JSON.stringify({ command, ...figures }, null, 2)}\n`);
}

function clientsOf({ clients = '1,8,32' }: Values): number[] {
  return clients.split(',').map((text) => whole('clients', text.trim(), 100));
}

async function benchBudget(values: Values): Promise<void> {
  await budgetCommand({
    command: typed(),
    clients: whole('clients', values.clients ?? '16', 100),
    seconds: whole('seconds', values.seconds ?? '5', 600),
    scale: whole('scale', values.scale, 1000),
    flames: values.flames ?? null,
  });
}

async function benchGateway(values: Values): Promise<void> {
  const machine = describeMachine();
  console.log(`${machineLines(machine)}\n`);
  const rows = await runGatewayBench(
    {
      seconds: whole('seconds', values.seconds ?? '5', 600),
      rounds: whole('rounds', values.rounds ?? '3', 100),
      clients: clientsOf(values),
      workload: '--select-only',
      protocol: 'simple',
    },
    (line) => console.error(line),
  );
  console.log(`\n${gatewayTable(rows)}`);
  report(values, { machine, rows });
}

async function benchLog(values: Values): Promise<void> {
  const machine = describeMachine();
  const seconds = whole('seconds', values.seconds ?? '3', 600);
  const entryBytes = whole('bytes', values.bytes, 1024 * 1024);
  console.log(`${machineLines(machine)}\n`);
  const { directory, store } = values;
  if (store !== 'segment' && store !== 'zookeeper')
    throw new UsageError(`--store must be segment or zookeeper, not "${store}"`);
  const results = await runLogBench({ directory, seconds, entryBytes, store }, (result) =>
    console.log(logLine(result)),
  );
  report(values, { machine, results });
}

async function benchCluster(values: Values): Promise<void> {
  const machine = describeMachine();
  const result = await runClusterBench(
    {
      seconds: whole('seconds', values.seconds ?? '5', 600),
      rounds: whole('rounds', values.rounds ?? '3', 100),
      scale: whole('scale', values.scale, 1000),
      clients: clientsOf(values),
      workloads: values.workloads.split(',').map((text) => workload(text.trim())),
    },
    (line) => console.error(line),
  );
  console.log(`\n${machineLines(machine)}\nPostgreSQL  ${result.postgres}\n`);
  console.log(`Transactions per second; ratio: of medians, to the first line.\n\n${table(result.rows)}`);
  report(values, { machine, ...result });
}

async function benchCompare(values: Values): Promise<void> {
  const given = (option: 'rounds' | 'seconds' | 'failovers', max: number): number | null => {
    const text = values[option];
    return text === undefined ? null : whole(option, text, max);
  };
  await compareCommand({
    command: typed(),
    quick: values.quick,
    checkout: values.checkout ?? null,
    rounds: given('rounds', 100),
    seconds: given('seconds', 600),
    scale: whole('scale', values.scale, 1000),
    only: values.only === undefined ? null : values.only.split(',').map(compared),
    direct: values.direct,
    patient: values.patient,
    failovers: values.failovers === '0' ? 0 : given('failovers', 1000),
    json: values.json ?? null,
    before: values.before ?? null,
  });
}

const commands: ReadonlyMap<string, (values: Values) => Promise<void>> = new Map([
  ['compare', benchCompare],
  ['budget', benchBudget],
  ['gateway', benchGateway],
  ['log', benchLog],
  ['cluster', benchCluster],
]);

async function main(): Promise<number> {
  try {
    const { values, positionals } = parse();
    const [command, ...rest] = positionals;
    if (values.help) {
      console.log(help);
      return 0;
    }
    const run = rest.length > 0 || command === undefined ? undefined : commands.get(command);
    if (run === undefined) throw new UsageError(`Say what to measure: ${[...commands.keys()].join(', ')}.`);
    await run(values);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`${error.message}\n\n${help}`);
      return 2;
    }
    console.error(error instanceof BenchError ? error.message : error);
    return 1;
  }
}

process.exitCode = await main();
