/**
 * `npm run bench -- compare`: its options, its report, and Ctrl-C.
 *
 * Responsible for: what the options mean, building this checkout before it is measured, and where the result goes.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BenchError } from '../bench-error.ts';
import { compare, type CompareOptions } from './compare.ts';
import type { Comparison } from './comparison.ts';
import { reportText } from './report.ts';
import { fullWorkloads, quickWorkloads, type Workload, type WorkloadName } from './workloads.ts';

const run = promisify(execFile);
const ownCheckout = fileURLToPath(new URL('../../..', import.meta.url));
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
  const abort = new AbortController();
  const stop = (): void => {
    if (!abort.signal.aborted) console.error('\nending everything that was started');
    abort.abort(new BenchError('The benchmark was ended before it was done.'));
  };
  // They stay in place: a second Ctrl-C must not cut the ending short.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
  try {
    const startedMs = performance.now();
    const progress = (line: string): void => {
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(0).padStart(4);
      console.error(`${seconds} s  ${line}`);
    };
    if (args.checkout === null) await build(progress);
    const comparison = await compare(optionsOf(args), { signal: abort.signal, startedMs, progress });
    if (args.json !== null) writeFileSync(args.json, `${JSON.stringify(comparison, null, 2)}\n`);
    console.log(`\n${reportText(comparison, before)}\n\nto repeat   ${args.command}`);
  } catch (error) {
    // What fails because everything is being ended is not worth a word of its own.
    throw abort.signal.aborted ? (abort.signal.reason as Error) : error;
  } finally {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(name, stop);
  }
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
  if (only !== null) return fullWorkloads.filter(({ name }) => only.includes(name));
  return quick ? quickWorkloads : fullWorkloads;
}

/** What is measured is what is in the files now. */
async function build(progress: (line: string) => void): Promise<void> {
  progress('building the server');
  await run('npm', ['run', '--silent', 'build:server'], { cwd: ownCheckout }).catch((cause: unknown) => {
    const { stdout = '', stderr = '' } = cause as { readonly stdout?: string; readonly stderr?: string };
    throw new BenchError(`The server of this checkout does not build:\n${stdout}${stderr}`.trimEnd(), {
      cause,
    });
  });
}
