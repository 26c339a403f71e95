/**
 * The `barista` command: what can be typed, and its help.
 *
 * Responsible for: options, their checks and texts. What the commands do is handed in, so that it can be tested without doing it.
 */
import { resolve } from 'node:path';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import type { FaultRequest } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types.ts';
import { defaultDashboardPort } from './demo-client.ts';
import { defaultDelayMs, defaultProbability } from './demo/fault-table.ts';

export interface DemoArguments {
  /** Null: as many as the data directory holds, or 3. */
  readonly replicas: number | null;
  readonly dataDir: string;
  readonly port: number;
  readonly dashboardPort: number;
  readonly pgBin: string | null;
  readonly autoRestart: boolean;
  readonly trace: boolean;
  readonly dashboard: boolean;
}

/** Where a running demo is to be found. `dashboardPort` null: not given. */
export interface Target {
  readonly dashboardPort: number | null;
  readonly dataDir: string;
}

export interface Commands {
  readonly demo: (args: DemoArguments) => Promise<void>;
  readonly serve: (configFile: string) => Promise<void>;
  readonly status: (target: Target, json: boolean) => Promise<void>;
  readonly fault: (target: Target, request: FaultRequest) => Promise<void>;
}

const defaultDataDir = '.barista';
const exitCodesText = `
Exit codes: 0 done; 1 failed; 2 wrong option or configuration; 3 no demo answers; 4 the demo refused.`;

const whole = (min: number, max: number) => (text: string) => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  }
  return value;
};
const port = whole(1, 65_535);
const path = (text: string): string => resolve(text);
const dataDirOption = (): Option =>
  new Option('--data-dir <dir>', 'where the cluster is kept')
    .default(resolve(defaultDataDir), defaultDataDir)
    .argParser(path);

export function buildProgram(commands: Commands, version: string): Command {
  const program = new Command('barista')
    .description(
      'PostgreSQL, replicated: a cluster that an unchanged application can use, and that people can break and check.',
    )
    .version(version)
    .showHelpAfterError('(--help shows what can be given)')
    .addHelpText(
      'after',
      `
Examples:
  barista demo                      start three replicas here, with a dashboard
  barista status                    what each replica is doing
  barista fault crash r1            kill -9 of replica r1
  barista serve --config r1.yaml    one replica, on a host of its own
${exitCodesText}`,
    );
  addDemo(program, commands);
  addServe(program, commands);
  addStatus(program, commands);
  addFault(program, commands);
  return program;
}

function addDemo(program: Command, commands: Commands): void {
  program
    .command('demo')
    .description('start a local cluster with a dashboard; Ctrl-C stops all of it, and its data stays')
    .option('--replicas <n>', 'how many replicas, for a new data directory (default: 3)', whole(1, 9))
    .addOption(dataDirOption())
    .option('--port <port>', 'port of the first replica for SQL clients; the next ones follow', port, 7432)
    .option(
      '--dashboard-port <port>',
      'port of the dashboard; the replicas take those after it',
      port,
      defaultDashboardPort,
    )
    .option(
      '--pg-bin <dir>',
      "directory of an installed PostgreSQL's programs, instead of the embedded one",
      path,
    )
    .option('--auto-restart', 'start a replica again when it ends by itself', false)
    .option('--trace', "record every replica's events under its data directory", false)
    .option('--no-dashboard', 'do not build or serve the dashboard, only its API')
    .addHelpText(
      'after',
      `
Examples:
  barista demo --replicas 5 --data-dir /tmp/five
  barista demo --port 9432 --dashboard-port 9080
  npm start -- --replicas 5         the same from a checkout; options come after --

Ports: SQL clients on 7432, 7433...; peers on 7532, 7533...; dashboard on 8080; each replica's HTTP on 8081, 8082...
${exitCodesText}`,
    )
    .action((options: Partial<DemoArguments> & Omit<DemoArguments, 'replicas' | 'pgBin'>) =>
      commands.demo({ ...options, replicas: options.replicas ?? null, pgBin: options.pgBin ?? null }),
    );
}

function addServe(program: Command, commands: Commands): void {
  program
    .command('serve')
    .description('run one replica in this process, until SIGTERM or Ctrl-C')
    .requiredOption('--config <file>', 'its configuration, in YAML')
    .addHelpText(
      'after',
      `
A configuration for a group of three (keys left out have defaults):
  group: main
  id: r1
  dataDir: /var/lib/barista/r1
  peers:
    - { id: r1, host: 10.0.0.1, port: 7532, pgwire: { host: 10.0.0.1, port: 7432 } }
    - { id: r2, host: 10.0.0.2, port: 7532, pgwire: { host: 10.0.0.2, port: 7432 } }
    - { id: r3, host: 10.0.0.3, port: 7532, pgwire: { host: 10.0.0.3, port: 7432 } }
  peerListen: { host: 10.0.0.1, port: 7532 }
  clusterSecretFile: /etc/barista/secret
  pgwire: { host: 10.0.0.1, port: 7432 }
  http: { port: 8081 }
  bootstrap: { user: app, password: change-me, database: app }
${exitCodesText}`,
    )
    .action((options: { readonly config: string }) => commands.serve(options.config));
}

function withTarget(command: Command): Command {
  return command
    .option(
      '--dashboard-port <port>',
      "the demo's dashboard port (default: that of the data directory's demo)",
      port,
    )
    .addOption(dataDirOption());
}

/** As commander has them: an option that was not given is absent. */
interface TargetOptions {
  readonly dashboardPort?: number;
  readonly dataDir: string;
}
const targetOf = (options: TargetOptions): Target => ({
  dashboardPort: options.dashboardPort ?? null,
  dataDir: options.dataDir,
});

function addStatus(program: Command, commands: Commands): void {
  withTarget(program.command('status').description('what each replica of a running demo is doing'))
    .option('--json', 'for programs: { group, replicas: [...] }', false)
    .addHelpText('after', `\nA replica that does not answer has the state "down".\n${exitCodesText}`)
    .action((options: TargetOptions & { readonly json: boolean }) =>
      commands.status(targetOf(options), options.json),
    );
}

const replicaActions = [
  ['crash', 'crash', 'kill -9 of its process; it stays down until "restart"'],
  ['pause', 'pause', 'freeze its process (SIGSTOP)'],
  ['resume', 'resume', 'thaw it'],
  ['restart', 'restart', 'stop its process if it runs, and start it again'],
  ['kill-postgres', 'killPostgres', 'kill -9 of its PostgreSQL alone'],
  ['isolate', 'isolate', 'cut every link to and from it'],
] as const;

const linkActions = [
  ['cut', 'lose every message', '0 to mend the link'],
  ['delay', 'deliver late', `milliseconds (default ${defaultDelayMs})`],
  ['drop', 'lose some messages', `share of the messages, 0 to 1 (default ${defaultProbability})`],
  [
    'duplicate',
    'deliver some messages twice',
    `share of the messages, 0 to 1 (default ${defaultProbability})`,
  ],
] as const;

function addFault(program: Command, commands: Commands): void {
  const fault = program
    .command('fault')
    .description('break a running demo, and mend it')
    .addHelpText(
      'after',
      `
Examples:
  barista fault crash r1            then: barista fault restart r1
  barista fault cut r1 r2           what r1 sends to r2 is lost; r2 still reaches r1
  barista fault delay r1 r3 500     half a second later
  barista fault isolate r2          then: barista fault heal
${exitCodesText}`,
    );
  for (const [name, action, description] of replicaActions) {
    withTarget(fault.command(name).description(description))
      .argument('<replica>', 'such as r1')
      .action((replica: string, options: TargetOptions) =>
        commands.fault(targetOf(options), { action, replica: replica as ReplicaId }),
      );
  }
  for (const [action, description, amountText] of linkActions) {
    withTarget(fault.command(action).description(`${description}, from one replica to another`))
      .argument('<from>', 'the replica that sends')
      .argument('<to>', 'the replica that should receive')
      .addArgument(new Argument('[amount]', amountText).argParser(amountOf))
      .action((from: string, to: string, amount: number | undefined, options: TargetOptions) => {
        const link = { action, from: from as ReplicaId, to: to as ReplicaId };
        return commands.fault(targetOf(options), amount === undefined ? link : { ...link, amount });
      });
  }
  withTarget(
    fault.command('heal').description('take all faults off all links (does not restart or resume replicas)'),
  ).action((options: TargetOptions) => commands.fault(targetOf(options), { action: 'heal' }));
}

const amountOf = (text: string): number => {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0)) throw new InvalidArgumentError('It must be a number, 0 or more.');
  return value;
};
