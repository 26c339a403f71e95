/**
 * `npm run bench -- compare`: its options, its report, and Ctrl-C.
 *
 * Responsible for: what the options mean, building this checkout before it is measured, and where the result goes.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { buildServer, ownCheckout } from '../build-server.ts';
import { interruptible } from '../interruptible.ts';
import { compare, type CompareOptions } from './compare.ts';
import type { Comparison } from './comparison.ts';
import { reportText } from './judge/report.ts';
import {
  allWorkloads,
  fullWorkloads,
  quickWorkloads,
  type Workload,
  type WorkloadName,
} from './loads/workloads.ts';

/** `--quick` has to be over in three minutes; the rest is for machines that are slower than they look. */
const quickSeconds = 165;

export interface CompareArguments {
  /** As it was typed. */
  readonly command: string;
  readonly quick: boolean;
  readonly checkout: string | null;
  readonly rounds: number | null;
  readonly seconds: number | null;
  readonly scale: number;
  readonly direct: boolean;
  readonly patient: boolean;
  readonly failovers: number | null;
  /** These workloads, and nothing else. */
  readonly only: readonly WorkloadName[] | null;
  readonly json: string | null;
  /** JSON of an earlier run, shown beside this one. */
  readonly before: string | null;
}

/** @throws Error in plain words */
export async function compareCommand(args: CompareArguments): Promise<void> {
  const before = args.before === null ? null : (JSON.parse(readFileSync(args.before, 'utf8')) as Comparison);
  await interruptible(async (shell) => {
    if (args.checkout === null) await buildServer(shell.progress);
    const comparison = await compare(optionsOf(args), shell);
    if (args.json !== null) writeFileSync(args.json, `${JSON.stringify(comparison, null, 2)}\n`);
    console.log(`\n${reportText(comparison, before)}\n\nto repeat   ${args.command}`);
  });
}

function optionsOf(args: CompareArguments): CompareOptions {
  const { command, quick, scale, direct, patient } = args;
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
    direct,
    patient,
    copyRounds: isShort ? 0 : 3,
    idleSeconds: isShort ? 0 : 30,
    failovers: args.failovers ?? (isShort ? 0 : 50),
  };
}

function workloadsOf({ quick, only }: CompareArguments): readonly Workload[] {
  if (only !== null) return allWorkloads.filter(({ name }) => only.includes(name));
  return quick ? quickWorkloads : fullWorkloads;
}
