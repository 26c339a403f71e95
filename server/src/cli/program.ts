/**
 * The `barista` command: what can be typed, and its help.
 *
 * Responsible for: which commands there are, and those that start and look at replicas; the others are in program-admin.ts, program-backup.ts and program-fault.ts.
 * What the commands do is handed in, so that it can be tested without doing it.
 */
import { Command, Option } from 'commander';
import {
  type CommitPointKind,
  commitPointKinds,
  type GroupCommitKind,
  groupCommitKinds,
} from '../demo/layout.ts';
import { type Level, levels } from '../primary/types/effects.ts';
import { accountVariable } from '../adapters/postgres/launch-user.ts';
import type { StoreWish } from '../demo/demo-store.ts';
import { defaultDashboardPort } from './demo-client.ts';
import { addAdmin, type AdminCommands } from './program-admin.ts';
import { addBackups, type BackupCommands } from './program-backup.ts';
import { addCertificates, type CertificateCommands } from './program-certificates.ts';
import { addFault, type FaultCommands } from './program-fault.ts';
import {
  dataDirOption,
  exitCodesText,
  path,
  port,
  servers,
  type Target,
  type TargetOptions,
  targetOf,
  userOption,
  whole,
  withTarget,
} from './program-options.ts';

export interface DemoArguments {
  /** Null: as many as the data directory holds, or 3. */
  readonly replicas: number | null;
  readonly dataDir: string;
  /** Null: as it was, or 7432. */
  readonly port: number | null;
  readonly dashboardPort: number;
  /** Null: 9000, where `port` is 7432 and nobody else has it; otherwise none. */
  readonly thriftPort: number | null;
  readonly pgBin: string | null;
  readonly autoRestart: boolean;
  readonly trace: boolean;
  readonly check: boolean;
  /** Null: the default of `bounds.logBytesMax`. */
  readonly logBytesMax: number | null;
  /** Null: the default of `bounds.clientsMax`. */
  readonly clientsMax: number | null;
  /** Null: the defaults of `timings`. */
  readonly electionTimeoutMs: number | null;
  /** Null: as a replica does by itself. */
  readonly commitPoint: CommitPointKind | null;
  readonly groupCommit: GroupCommitKind | null;
  /** Null: the default of `primary.replication`. */
  readonly replication: Level | null;
  /** Null: that of the data directory, or files. */
  readonly logStore: StoreWish | null;
  /** Null: that of the data directory, or WAL. */
  readonly payload: 'wal' | 'statements' | null;
  readonly protocol: 'multi-paxos' | 'paxos' | 'primary' | null;
  readonly dashboard: boolean;
  readonly load: boolean;
}

export interface Commands extends AdminCommands, BackupCommands, CertificateCommands, FaultCommands {
  readonly demo: (args: DemoArguments) => Promise<void>;
  readonly serve: (configFile: string) => Promise<void>;
  readonly status: (target: Target, json: boolean) => Promise<void>;
}

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
  barista fault wipe r2             what a lost disk does; it comes back by itself
  barista init --config r1.yaml     found a group of replicas on hosts of their own, then
  barista serve --config r1.yaml    one of its replicas
  barista backup monday.barista     all of it in one file
${exitCodesText}`,
    );
  program.hook('preAction', (_, command) => {
    const user: unknown = command.getOptionValue('user');
    if (typeof user === 'string') process.env[accountVariable] = user;
  });
  addDemo(program, commands);
  addServe(program, commands);
  addStatus(program, commands);
  addAdmin(program, commands);
  addBackups(program, commands);
  addCertificates(program, commands);
  addFault(program, commands);
  return program;
}

function addDemo(program: Command, commands: Commands): void {
  program
    .command('demo')
    .description('start a local cluster with a dashboard; Ctrl-C stops all of it, and its data stays')
    .option('--replicas <n>', 'how many replicas, for a new data directory (default: 3)', whole(1, 9))
    .addOption(dataDirOption())
    .option(
      '--port <port>',
      'port of the first replica for SQL clients, for a new data directory; the next ones follow (default: 7432)',
      port,
    )
    .option(
      '--dashboard-port <port>',
      'port of the dashboard; the replicas take those after it',
      port,
      defaultDashboardPort,
    )
    .option(
      '--thrift-port <port>',
      'port of the first replica for Thrift clients; the next ones follow (default: 9000 beside --port 7432, if it is free, or else none)',
      port,
    )
    .option(
      '--pg-bin <dir>',
      "directory of an installed PostgreSQL's programs, instead of the embedded one",
      path,
    )
    .addOption(userOption())
    .option('--auto-restart', 'start a replica again when it ends by itself', false)
    .option('--trace', "record every replica's events under its data directory", false)
    .option('--check', 'hold what the replicas do to the TLA+ specification while they do it', false)
    .option(
      '--log-bytes-max <bytes>',
      'bound on each log: a replica that is away for longer comes back by a copy (default: 1 GiB, in ZooKeeper 64 MiB)',
      whole(2 ** 20, 2 ** 40),
    )
    .option('--clients-max <n>', 'SQL clients that each replica takes (default: 150)', whole(1, 10_000))
    .option(
      '--election-timeout <ms>',
      'how long a leader is silent before another one is elected; up to two thirds more (default: 1200)',
      whole(200, 60_000),
    )
    .addOption(
      new Option(
        '--log-store <kind>',
        'where the replicas keep promises, votes and entries, for a new data directory: in files, or in Apache ZooKeeper (default: segment)',
      ).choices(['segment', 'zookeeper']),
    )
    .option(
      '--zookeeper <servers>',
      'host:port of each of its servers, between commas; asks for zookeeper (default: 127.0.0.1:2181)',
      servers,
    )
    .addOption(
      new Option(
        '--payload <kind>',
        "what travels, for a new data directory: PostgreSQL's WAL, or clients' statements, which every replica executes (default: wal)",
      ).choices(['wal', 'statements']),
    )
    .addOption(
      new Option(
        '--protocol <kind>',
        'what orders it, for a new data directory: one leader, or with --payload statements every replica, or a primary with copies (default: multi-paxos)',
      ).choices(['multi-paxos', 'paxos', 'primary']),
    )
    .addOption(
      new Option(
        '--commit-point <how>',
        'how followers hear what is chosen: with the next group, by a message of its own at once, or now and then (default: piggyback)',
      ).choices(commitPointKinds),
    )
    .addOption(
      new Option(
        '--group-commit <how>',
        'what a leader proposes together, with --payload wal: what comes while its log is written to, or within an interval that follows from how long replicas take to write (default: gather)',
      ).choices(groupCommitKinds),
    )
    .addOption(
      new Option(
        '--replication <level>',
        'with --protocol primary: where an operation is when its client is answered (default: majority)',
      ).choices(levels),
    )
    .option('--no-dashboard', 'do not build or serve the dashboard, only its API')
    .option('--no-load', 'have no clients of its own write and read while somebody watches the dashboard')
    .addHelpText(
      'after',
      `
Examples:
  barista demo --replicas 5 --data-dir /tmp/five
  barista demo --port 9432 --dashboard-port 9080
  barista demo --zookeeper 127.0.0.1:2181 --data-dir /tmp/on-zookeeper
  barista demo --payload statements --data-dir /tmp/statements
  barista demo --payload statements --protocol paxos --data-dir /tmp/paxos
  barista demo --payload statements --protocol primary --replication semi --data-dir /tmp/primary
  npm start -- --replicas 5         the same from a checkout; options come after --

Ports: SQL clients on 7432, 7433...; peers on 7532, 7533...; dashboard on 8080; each replica's HTTP on 8081, 8082...; Thrift clients on 9000, 9001...
A data directory that holds other things, and that no demo has made, is refused.
${exitCodesText}`,
    )
    .action(
      ({ zookeeper, electionTimeout, commitPoint, groupCommit, ...options }: DemoTyped, command: Command) =>
        commands.demo({
          ...options,
          replicas: options.replicas ?? null,
          port: options.port ?? null,
          thriftPort: options.thriftPort ?? null,
          pgBin: options.pgBin ?? null,
          logBytesMax: options.logBytesMax ?? null,
          clientsMax: options.clientsMax ?? null,
          electionTimeoutMs: electionTimeout ?? null,
          commitPoint: commitPoint ?? null,
          groupCommit: groupCommit ?? null,
          replication: options.replication ?? null,
          logStore: storeWish(options.logStore, zookeeper, command),
          payload: options.payload ?? null,
          protocol: options.protocol ?? null,
        }),
    );
}

/** As commander has them: an option that was not given is absent. */
type OptionalInDemo =
  | 'replicas'
  | 'port'
  | 'thriftPort'
  | 'pgBin'
  | 'logBytesMax'
  | 'clientsMax'
  | 'replication'
  | 'payload'
  | 'protocol';
interface DemoTyped
  extends Partial<Pick<DemoArguments, OptionalInDemo>>,
    Omit<DemoArguments, OptionalInDemo | 'electionTimeoutMs' | 'commitPoint' | 'groupCommit' | 'logStore'> {
  readonly electionTimeout?: number;
  readonly commitPoint?: CommitPointKind;
  readonly groupCommit?: GroupCommitKind;
  readonly logStore?: StoreWish['kind'];
  readonly zookeeper?: readonly string[];
}

function storeWish(
  kind: StoreWish['kind'] | undefined,
  zookeeper: readonly string[] | undefined,
  command: Command,
): StoreWish | null {
  if (kind === 'segment') {
    if (zookeeper === undefined) return { kind };
    return command.error("error: option '--zookeeper <servers>' cannot be used with '--log-store segment'");
  }
  if (kind === undefined && zookeeper === undefined) return null;
  return { kind: 'zookeeper', servers: zookeeper ?? null };
}

function addServe(program: Command, commands: Commands): void {
  program
    .command('serve')
    .description('run one replica in this process, until SIGTERM or Ctrl-C')
    .requiredOption('--config <file>', 'its configuration, in YAML')
    .addOption(userOption())
    .addHelpText(
      'after',
      `
A new group is founded first, on one replica: "barista init". One that finds no log asks the others to let it in.

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

function addStatus(program: Command, commands: Commands): void {
  withTarget(program.command('status').description('show what each replica of a running demo is doing'))
    .option('--json', 'for programs: { group, replicas: [...] }', false)
    .addHelpText(
      'after',
      `\nA replica that does not answer has the state "down"; one that comes back after a lost disk shows how far it is.\n${exitCodesText}`,
    )
    .action((options: TargetOptions & { readonly json: boolean }) =>
      commands.status(targetOf(options), options.json),
    );
}
