/**
 * `npm run bench -- compare`: its options, its report, and Ctrl-C.
 *
 * Responsible for: what the options mean, building this checkout before it is measured, and where the result goes.
 */
import { writeFileSync } from 'node:fs';
import { buildServer, ownCheckout } from '../build-server.ts';
import { interruptible } from '../interruptible.ts';
import { readJson } from '../usage.ts';
import { compare, type CompareOptions } from './compare.ts';
import type { Comparison } from './comparison.ts';
import { guardText } from './judge/guard.ts';
import { reportText } from './judge/report.ts';
import { writeReport } from './judge/write-report.ts';
import {
  fullWorkloads,
  quickWorkloads,
  workload,
  type Workload,
  type WorkloadName,
} from './loads/workloads.ts';
import type { SystemId } from './systems/system.ts';

/** `--quick` has to be over in three minutes; the rest is for machines that are slower than they look. */
const quickSeconds = 165;

const quickSystems: readonly SystemId[] = ['plain', 'native', 'barista'];
const fullSystems: readonly SystemId[] = [
  ...quickSystems,
  'remoteApply',
  'follower',
  'readers',
  'pgpool',
  'galera',
];

export interface CompareArguments {
  /** As it was typed. */
  readonly command: string;
  readonly quick: boolean;
  readonly checkout: string | null;
  readonly rounds: number | null;
  readonly seconds: number | null;
  readonly scale: number;
  readonly patient: boolean;
  readonly failovers: number | null;
  /** These workloads, and nothing else. */
  readonly only: readonly WorkloadName[] | null;
  /** For each of `only`, instead of what the full comparison has. */
  readonly clients: readonly number[] | null;
  /** Beside the three that everything is held against. */
  readonly systems: readonly SystemId[] | null;
  readonly replicas: number;
  readonly delayMs: number;
  readonly json: string | null;
  /** JSON of an earlier run, shown beside this one. */
  readonly before: string | null;
  /** JSON of an earlier run: what is slower than that, beyond the spread of both, is warned of. */
  readonly guard: string | null;
  /** A directory for the report. */
  readonly report: string | null;
}

/** @throws Error in plain words */
export async function compareCommand(args: CompareArguments): Promise<void> {
  const read = (option: 'before' | 'guard'): Comparison | null => {
    const file = args[option];
    return file === null ? null : readJson<Comparison>(option, file, ['versions', 'summaries', 'judged']);
  };
  const [before, guard] = [read('before'), read('guard')];
  await interruptible(async (shell) => {
    if (args.checkout === null) await buildServer(shell.progress);
    const comparison = await compare(optionsOf(args), shell);
    // First: a file may still be refused.
    console.log(`\n${reportText(comparison, before)}\n\nto repeat   ${args.command}`);
    if (guard !== null) console.log(`\n${guardText(comparison, guard)}`);
    if (args.json !== null) writeFileSync(args.json, `${JSON.stringify(comparison, null, 2)}\n`);
    if (args.report !== null) {
      writeReport(args.report, comparison, before);
      shell.progress(`the report is in ${args.report}`);
    }
  });
}

function optionsOf(args: CompareArguments): CompareOptions {
  const { command, quick, scale, patient, replicas, delayMs } = args;
  const isShort = quick || args.only !== null;
  return {
    command,
    checkout: args.checkout ?? ownCheckout,
    workloads: workloadsOf(args),
    rounds: args.rounds ?? (quick ? 3 : 5),
    secondsPerRun: args.seconds ?? (quick ? { fitSeconds: quickSeconds } : 5),
    scale,
    warmUpSeconds: quick ? 8 : 20,
    freshTables: !quick,
    systems:
      args.systems === null
        ? quick
          ? quickSystems
          : fullSystems
        : [...new Set([...quickSystems, ...args.systems])],
    replicas,
    delayMs,
    patient,
    copyRounds: isShort ? 0 : 3,
    idleSeconds: isShort ? 0 : 30,
    failovers: args.failovers ?? (isShort || delayMs > 0 ? 0 : 50),
  };
}

function workloadsOf({ quick, only, clients }: CompareArguments): readonly Workload[] {
  const usual = quick ? quickWorkloads : fullWorkloads;
  if (only === null) return usual;
  if (clients === null) return fullWorkloads.filter(({ name }) => only.includes(name));
  return only.flatMap((name) => clients.map((count) => workload(name, count)));
}
