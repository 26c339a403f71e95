/**
 * `npm run bench -- compare|failover|budget|memory|size|papers|gateway|log|cluster [options]`: measures, and says on what and how to measure it again.
 *
 * Responsible for: the command line and the report. Exit codes: 0 measured, 1 a run failed, 2 wrong option.
 */
import { writeFileSync } from 'node:fs';
import { BenchError } from './bench-error.ts';
import { budgetCommand } from './budget/command.ts';
import { compareCommand } from './compare/command.ts';
import { systemIds } from './compare/systems/system.ts';
import { runClusterBench, workloadNames } from './cluster-bench.ts';
import { buildServer } from './build-server.ts';
import { gatewayTable, runGatewayBench } from './gateway-bench.ts';
import { interruptible, type Shell } from './interruptible.ts';
import { logLine, runLogBench } from './log-bench.ts';
import { describeMachine, machineLines } from './machine.ts';
import { failoverText } from './failover/failover-report.ts';
import { measureFailovers } from './failover/failover-times.ts';
import { measureMemory } from './memory/memory.ts';
import { memoryText } from './memory/memory-report.ts';
import { measureSizes } from './size/size.ts';
import { sizeText } from './size/size-report.ts';
import { measurePapers, paperParts } from './papers/papers.ts';
import { writePapers } from './papers/write-papers.ts';
import { table } from './summary.ts';
import { comparedNames, help, parse, type Values } from './options.ts';
import { counts, directoryToWrite, fileToWrite, listed, one, UsageError, whole } from './usage.ts';

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
  return counts('clients', clients, 100);
}

/** Of a demo. */
const shortestTimeoutMs = 200;

async function benchBudget(values: Values): Promise<void> {
  await budgetCommand({
    command: typed(),
    clients: whole('clients', values.clients ?? '16', 100),
    workload: one('only', values.only ?? 'update', comparedNames),
    seconds: whole('seconds', values.seconds ?? '5', 600),
    scale: whole('scale', values.scale, 1000),
    flames: values.flames ?? null,
  });
}

async function benchFailover(values: Values): Promise<void> {
  const options = {
    timeoutsMs: counts('timeouts', values.timeouts, 60_000),
    failovers: whole('failovers', values.failovers ?? '50', 1000),
    patient: values.patient,
  };
  const below = options.timeoutsMs.find((timeoutMs) => timeoutMs < shortestTimeoutMs);
  if (below !== undefined)
    throw new UsageError(`--timeouts must be ${shortestTimeoutMs} at least, not ${below}`);
  const run = await measured((shell) => measureFailovers(options, shell));
  console.log(`\n${failoverText(run)}`);
  report(values, run);
}

async function benchMemory(values: Values): Promise<void> {
  const options = {
    minutes: whole('minutes', values.minutes, 10_000),
    clients: whole('clients', values.clients ?? '16', 100),
    scale: whole('scale', values.scale, 1000),
  };
  const run = await measured((shell) => measureMemory(options, shell));
  console.log(`\n${memoryText(run)}`);
  report(values, run);
}

async function benchSize(values: Values): Promise<void> {
  const options = {
    megabytes: counts('megabytes', values.megabytes, 1_000_000),
    secondsPerRun: whole('seconds', values.seconds ?? '10', 600),
  };
  const run = await measured((shell) => measureSizes(options, shell));
  console.log(`\n${sizeText(run)}`);
  report(values, run);
}

async function benchPapers(values: Values): Promise<void> {
  const options = {
    parts: values.parts === undefined ? paperParts : listed('parts', values.parts, paperParts),
    delaysMs: values.delays.split(',').map((each) => whole('delays', each.trim(), 1000, 0)),
    seconds: whole('seconds', values.seconds ?? '60', 3600),
    clients: clientsOf(values),
  };
  const directory = directoryToWrite('report', values.report ?? 'papers-report');
  const run = await measured((shell) => measurePapers(options, shell));
  writePapers(directory, run, typed());
  console.log(`\nreport      ${directory}/README.md`);
  report(values, run);
}

/** Of this checkout, as it is now. */
function measured<T>(measure: (shell: Shell) => Promise<T>): Promise<T> {
  return interruptible(async (shell) => {
    await buildServer(shell.progress);
    return measure(shell);
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
      workloads: listed('workloads', values.workloads, workloadNames),
    },
    (line) => console.error(line),
  );
  console.log(`\n${machineLines(machine)}\nPostgreSQL  ${result.postgres}\n`);
  console.log(`Transactions per second; ratio: of medians, to the first line.\n\n${table(result.rows)}`);
  report(values, { machine, ...result });
}

async function benchCompare(values: Values): Promise<void> {
  const given = (option: 'rounds' | 'seconds' | 'failovers', max: number, min = 1): number | null => {
    const text = values[option];
    return text === undefined ? null : whole(option, text, max, min);
  };
  const { only, clients, systems } = values;
  if (clients !== undefined && only === undefined)
    throw new UsageError('--clients of a comparison goes with --only');
  await compareCommand({
    command: typed(),
    quick: values.quick,
    checkout: values.checkout ?? null,
    rounds: given('rounds', 100),
    seconds: given('seconds', 600),
    scale: whole('scale', values.scale, 1000),
    only: only === undefined ? null : listed('only', only, comparedNames),
    clients: clients === undefined ? null : counts('clients', clients, 1000),
    systems: systems === undefined ? null : listed('systems', systems, systemIds),
    replicas: Number(one('replicas', values.replicas, ['3', '5'])),
    delayMs: whole('delay', values.delay, 1000, 0),
    patient: values.patient,
    failovers: given('failovers', 1000, 0),
    json: values.json ?? null,
    before: values.before ?? null,
    guard: values.guard ?? null,
    report: values.report === undefined ? null : directoryToWrite('report', values.report),
  });
}

const commands: ReadonlyMap<string, (values: Values) => Promise<void>> = new Map([
  ['compare', benchCompare],
  ['failover', benchFailover],
  ['budget', benchBudget],
  ['memory', benchMemory],
  ['size', benchSize],
  ['papers', benchPapers],
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
    if (values.json !== undefined) fileToWrite('json', values.json);
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
