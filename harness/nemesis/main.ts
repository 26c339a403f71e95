/**
 * `npm run nemesis -- --seed N --minutes M`: a real cluster under faults and load, and what clients saw judged.
 *
 * Exit code 1 if anything was found, could not be decided, or did not come back; 2 for a command line or a history file that is not understood.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkHistory, type CheckedHistory } from '../checkers/check-history.ts';
import { HistoryError, readHistory } from '../checkers/history.ts';
import { readModes } from '../checkers/read-terms.ts';
import { parseWorkloads } from '../workload/all-workloads.ts';
import { runLeaderKills } from './leader-kills.ts';
import { runPlanted } from './planted.ts';
import { describeFindings, describeResult, describeWorkload, noAnomaly, verdictOf } from './report.ts';
import { runOnce, type RunResult } from './run.ts';
import { faultKindsOf, parseOrder, readModesOf } from './order.ts';
import { describePlan, drawSchedule, faultKinds } from './schedule.ts';

const usage = `npm run nemesis -- [options]
  --seed N           what is drawn: the schedule of faults and the requests (default: a new one)
  --minutes M        how long faults and load go on (default 3)
  --replicas 3|5     (default 3)
  --workload LIST    all, or some of register,list-append,bank,ids,set
  --reads LIST       all, none, or some of ${readModes.join(',')}: how clients read at all replicas, besides
  --faults LIST      all, none, or some of ${faultKinds.join(',')}
  --log-store NAME   segment (default) or zookeeper
  --order NAME       wal (default), statements, or paxos: statements that every replica proposes; with fewer faults, and without reads in a mode
  --pace X           0.1: a tenth of the load (default 1)
  --trace            replicas record what they do, and the specs judge it; for 0.1 of the load or less
  --alter            what they recorded is altered as well, in one place after another, and none of that may be accepted
  --no-request-ids   transfers are not repeated when their outcome is unknown
  --out DIR          where the histories go (default: a new directory)
  --bin FILE         another build of the barista command
  --schedule         print the schedule and end
  --leader-kills N   no faults but this one: kill the leader and its PostgreSQL under pgbench, N times
  --scale S          pgbench's, for --leader-kills (default 5)
  --check FILE...    judge histories again, without a cluster
  --planted [NAME]   plant bugs into copies of the server and see each caught`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seed: { type: 'string', default: String(1 + Math.floor(Math.random() * 1_000_000)) },
      minutes: { type: 'string', default: '3' },
      replicas: { type: 'string', default: '3' },
      workload: { type: 'string', default: 'all' },
      reads: { type: 'string', default: 'all' },
      faults: { type: 'string', default: 'all' },
      'log-store': { type: 'string', default: 'segment' },
      order: { type: 'string', default: 'wal' },
      pace: { type: 'string', default: '1' },
      trace: { type: 'boolean', default: false },
      alter: { type: 'boolean', default: false },
      'no-request-ids': { type: 'boolean', default: false },
      out: { type: 'string' },
      bin: { type: 'string' },
      schedule: { type: 'boolean', default: false },
      'leader-kills': { type: 'string' },
      scale: { type: 'string', default: '5' },
      check: { type: 'boolean', default: false },
      planted: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  if (values.check) return check(positionals);
  if (values.planted) return runPlanted(positionals, console.log);
  if (values['leader-kills'] !== undefined) {
    return runLeaderKills({
      kills: number('leader-kills', values['leader-kills']),
      replicas: number('replicas', values.replicas),
      scale: number('scale', values.scale),
      directory: values.out ?? (await mkdtemp(join(tmpdir(), 'barista-leader-kills-'))),
      ...(values.bin === undefined ? {} : { bin: values.bin }),
      say: console.log,
    });
  }
  if (positionals.length > 0) throw new RangeError(`what is ${positionals.join(' ')}?`);
  const seed = number('seed', values.seed);
  const durationMs = number('minutes', values.minutes) * 60_000;
  const logStore = values['log-store'];
  if (logStore !== 'segment' && logStore !== 'zookeeper') throw new RangeError(`no log store ${logStore}`);
  const order = parseOrder(values.order);
  if (order === 'statements' && (values.trace || values.alter))
    throw new RangeError('what replicas record is judged for --order wal and paxos only');
  const schedule = drawSchedule({
    seed,
    durationMs,
    kinds: parseSome('fault', faultKindsOf(order), values.faults),
  });
  console.log(`seed ${seed}: ${schedule.length} faults in ${values.minutes} minutes`);
  for (const planned of schedule) console.log(describePlan(planned));
  if (values.schedule) return 0;
  const result = await runOnce({
    seed,
    durationMs,
    schedule,
    logStore,
    order,
    replicas: number('replicas', values.replicas),
    workloads: parseWorkloads(values.workload),
    pace: number('pace', values.pace),
    readModes: parseSome('read mode', readModesOf(order), values.reads),
    trace: values.trace || values.alter,
    alter: values.alter,
    requestIds: order === 'wal' && !values['no-request-ids'],
    directory: values.out ?? (await mkdtemp(join(tmpdir(), `barista-nemesis-${seed}-`))),
    ...(values.bin === undefined ? {} : { bin: values.bin }),
    say: (line) => console.log(line),
  });
  for (const line of describeResult(result)) console.log(line);
  console.log(
    `Again: npm run nemesis -- --seed ${seed} --minutes ${values.minutes} --replicas ${values.replicas}` +
      (logStore === 'segment' ? '' : ` --log-store ${logStore}`) +
      (order === 'wal' ? '' : ` --order ${order}`) +
      (values.pace === '1' ? '' : ` --pace ${values.pace}`) +
      (values.reads === 'all' ? '' : ` --reads ${values.reads}`) +
      (values.trace ? ' --trace' : '') +
      (values.alter ? ' --alter' : ''),
  );
  return exitCodeOf(result);
}

async function check(files: readonly string[]): Promise<number> {
  if (files.length === 0) throw new RangeError('--check needs history files');
  const all: CheckedHistory[] = [];
  for (const file of files) {
    const checked = checkHistory(await readHistory(file));
    console.log(`${file}\n${describeWorkload(checked)}`);
    for (const line of describeFindings([checked], [])) console.log(line);
    all.push(checked);
  }
  const result = { checked: all, anomalies: [] };
  console.log(verdictOf(result));
  return exitCodeOf(result);
}

function exitCodeOf(result: Pick<RunResult, 'checked' | 'anomalies'>): number {
  return verdictOf(result) === noAnomaly ? 0 : 1;
}

function number(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0)
    throw new RangeError(`--${name} must be a positive number, not ${text}`);
  return value;
}

function parseSome<T extends string>(what: string, known: readonly T[], text: string): readonly T[] {
  if (text === 'all') return known;
  if (text === 'none') return [];
  return text.split(',').map((part) => {
    const found = known.find((each) => each === part);
    if (found === undefined) throw new RangeError(`no ${what} ${part}; there are ${known.join(', ')}`);
    return found;
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  const isUsage = error instanceof RangeError;
  const isKnown = isUsage || error instanceof HistoryError;
  console.error(isUsage ? `${error.message}\n\n${usage}` : isKnown ? error.message : error);
  process.exitCode = isKnown ? 2 : 1;
}
