/**
 * `npm run bench -- log|cluster [options]`: measures, and says on what and how to measure it again.
 *
 * Responsible for: the command line and the report. Exit codes: 0 measured, 1 a run failed, 2 wrong option.
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { runClusterBench, workloadNames, type WorkloadName } from './cluster-bench.ts';
import { logLine, runLogBench } from './log-bench.ts';
import { describeMachine, machineLines } from './machine.ts';
import { table } from './summary.ts';

const help = `npm run bench -- COMMAND [options]

Commands:
  log        appends to the log store, against a plain loop of write and fdatasync
  cluster    pgbench: one plain PostgreSQL against three replicas on this machine, in interleaved rounds

Options:
  --seconds N        how long one run takes (default: 3 for log, 5 for cluster)
  --json FILE        write the figures as JSON, too
  --directory DIR    log: on the disk to measure (default: the system's temporary directory)
  --store NAME       log: segment, or zookeeper to measure that one, too; needs Java and Maven (default: segment)
  --bytes N          log: size of an entry (default: 1024)
  --rounds N         cluster: rounds (default: 3)
  --clients LIST     cluster: numbers of clients (default: 1,8,32)
  --workloads LIST   cluster: of ${workloadNames.join(', ')} (default: all)
  --scale N          cluster: pgbench's scale, 100,000 accounts each (default: 10)
  --help

"cluster" needs psql and pgbench, and "npm run build:server" before it. With the defaults it takes about ten minutes. Figures of a busy
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
  rounds: { type: 'string', default: '3' },
  clients: { type: 'string', default: '1,8,32' },
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

function report(values: Values, figures: object): void {
  const command = `npm run bench -- ${process.argv.slice(2).join(' ')}`;
  console.log(`\nto repeat   ${command}`);
  if (values.json === undefined) return;
  writeFileSync(values.json, `${JSON.stringify({ command, ...figures }, null, 2)}\n`);
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
  const list = (text: string): string[] => text.split(',').map((item) => item.trim());
  const result = await runClusterBench(
    {
      seconds: whole('seconds', values.seconds ?? '5', 600),
      rounds: whole('rounds', values.rounds, 100),
      scale: whole('scale', values.scale, 1000),
      clients: list(values.clients).map((text) => whole('clients', text, 100)),
      workloads: list(values.workloads).map(workload),
    },
    (line) => console.error(line),
  );
  console.log(`\n${machineLines(machine)}\nPostgreSQL  ${result.postgres}\n`);
  console.log(`Transactions per second; ratio: of medians, to the first line.\n\n${table(result.rows)}`);
  report(values, { machine, ...result });
}

async function main(): Promise<number> {
  try {
    const { values, positionals } = parse();
    const [command, ...rest] = positionals;
    if (values.help) {
      console.log(help);
      return 0;
    }
    if (rest.length > 0 || (command !== 'log' && command !== 'cluster')) {
      throw new UsageError('Say what to measure: log or cluster.');
    }
    await (command === 'log' ? benchLog(values) : benchCluster(values));
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`${error.message}\n\n${help}`);
      return 2;
    }
    console.error(error);
    return 1;
  }
}

process.exitCode = await main();
