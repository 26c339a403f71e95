/** The command line of the benchmarks: every option of every one of them, and what they mean. */
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { workloadNames } from './cluster-bench.ts';
import { workloadLabels, type WorkloadName } from './compare/loads/workloads.ts';
import { systemIds } from './compare/systems/system.ts';
import { paperParts } from './papers/papers.ts';
import { UsageError } from './usage.ts';

export const comparedNames = Object.keys(workloadLabels) as readonly WorkloadName[];

export const help = `npm run bench -- COMMAND [options]

Commands:
  compare    replicas against one PostgreSQL, PostgreSQL with synchronous standbys, and pgpool-II and MariaDB Galera where they are installed: pgbench's
             workloads, YCSB A to F, TPC-C, COPY, sysbench; CPU, an idle cluster, and the time without service when the leader is lost; in two hours or so
  failover   how long nobody can write when the leader is lost, by election time-out: it is killed, frozen and cut off in turn
  budget     where a transaction's processor time goes, stage by stage, beside what each stage's system calls alone would cost; flame graphs with --flames
  memory     what each replica's Node.js holds of the machine's memory under a load that goes on, for an hour unless --minutes says otherwise
  size       what grows with the size of the database: a transaction's cost, the time until a lost database, a lost disk and a killed leader are mended, a restart
  papers     the experiments of the papers that Barista is built from: TPC-C over Paxos, Multi-Paxos and WAL, the commit point's three ways, the middleware's overhead, a primary's levels;
             two hours or so, with the delays
  gateway    the SQL gateway, against a pipe that looks at nothing and against PostgreSQL without either
  log        appends to the log store, against a plain loop of write and fdatasync
  cluster    pgbench: one plain PostgreSQL against three replicas on this machine, in interleaved rounds

Options:
  --seconds N        how long one run takes (default: 5; size: 10; log: 3; papers: 60, and four times that of TPC-C; as --quick allows); not of memory
  --json FILE        all but budget: write the figures as JSON, too
  --rounds N         compare, cluster, gateway: rounds (default: 5, 3 and 3; 3 with --quick)
  --scale N          compare, cluster, budget, memory: pgbench's scale, 100,000 accounts each (default: 10)
  --quick            compare: pgbench only, in less than three minutes
  --checkout DIR     compare: measure the replicas of another checkout, in which "npm ci" and "npm run build:server" were run
  --only LIST        compare: these workloads only; budget: one (default: update); of ${comparedNames.join(', ')}
  --clients LIST     compare with --only, cluster, gateway, papers: numbers of clients (default: 1,8,32); budget, memory: one number (default: 16)
  --minutes N        memory: for how long (default: 60)
  --megabytes LIST   size: of the databases (default: 15,1000)
  --systems LIST     compare: of ${systemIds.join(', ')}; plain, native and barista always are
  --replicas N       compare: 3 or 5; as many servers for the others (default: 3)
  --delay MS         compare: between each two replicas, and between primary and standby, one way (default: 0)
  --parts LIST       papers: of ${paperParts.join(', ')} (default: all)
  --delays LIST      papers: between each two replicas, one way, in ms (default: 0,1,10)
  --report DIR       papers: write the report there (default: papers-report); compare: write a report with charts there, and the history of all reports beside it
  --guard FILE       compare: warn of what has become slower than an earlier --json beyond the spread
  --timeouts LIST    failover: election time-outs in ms, the shorter end of what followers wait (default: 600,900,1200,1800)
  --patient          compare, failover: repeat runs during which others kept the machine busy
  --failovers N      compare, failover: how often the leader is killed, frozen and cut off, each (default: 50; in compare none with --quick, --only and --delay)
  --before FILE      compare: show the figures of an earlier --json beside these
  --directory DIR    log: on the disk to measure (default: the system's temporary directory)
  --store NAME       log: segment, or zookeeper to measure that one, too; needs Java and Maven (default: segment)
  --bytes N          log: size of an entry (default: 1024)
  --flames DIR       budget: write a flame graph (SVG) of each replica's main thread there
  --workloads LIST   cluster: of ${workloadNames.join(', ')} (default: all)
  --help

All but "log" need psql and pgbench; "cluster" needs "npm run build:server" before it and takes about ten minutes. Figures of a busy
machine are worth nothing, and three replicas on one machine share what hosts of their own would not.`;

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
  systems: { type: 'string' },
  replicas: { type: 'string', default: '3' },
  delay: { type: 'string', default: '0' },
  report: { type: 'string' },
  parts: { type: 'string' },
  delays: { type: 'string', default: '0,1,10' },
  guard: { type: 'string' },
  minutes: { type: 'string', default: '60' },
  timeouts: { type: 'string', default: '600,900,1200,1800' },
  megabytes: { type: 'string', default: '15,1000' },
  patient: { type: 'boolean', default: false },
  failovers: { type: 'string' },
  before: { type: 'string' },
  clients: { type: 'string' },
  flames: { type: 'string' },
  workloads: { type: 'string', default: workloadNames.join(',') },
  scale: { type: 'string', default: '10' },
  help: { type: 'boolean', default: false },
} as const;

/** What each command heeds. An option that it does not is a mistake, and would be believed to have done something. */
const heeded: Readonly<Record<string, string>> = {
  compare:
    'seconds json rounds scale quick checkout only clients systems replicas delay report guard patient failovers before',
  failover: 'timeouts failovers patient json',
  budget: 'seconds scale only clients flames',
  memory: 'minutes clients scale json',
  size: 'megabytes seconds json',
  papers: 'parts delays seconds clients report json',
  gateway: 'seconds rounds clients json',
  log: 'seconds bytes directory store json',
  cluster: 'seconds rounds scale clients workloads json',
};

/** @throws UsageError */
export function parse(args: readonly string[] = process.argv.slice(2)) {
  const parsed = parsedOf(args);
  const [command = ''] = parsed.positionals;
  const names = heeded[command]?.split(' ');
  for (const token of parsed.tokens) {
    if (token.kind === 'option' && token.name !== 'help' && names?.includes(token.name) === false)
      throw new UsageError(`--${token.name} does not go with ${command}.`);
  }
  return parsed;
}

function parsedOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, tokens: true });
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause });
  }
}
export type Values = ReturnType<typeof parse>['values'];
