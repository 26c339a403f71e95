/**
 * `npm run clients -- NAME...|all`: software that others wrote, in a short program of ours, against a demo of three replicas whose leader is changed in the middle.
 *
 * Exit codes: 0 all is well, 1 something is not, 2 wrong option or a program that is needed is missing.
 */
import { spawnSync } from 'node:child_process';
import { startCluster } from '../cluster/local-cluster.ts';
import { changeLeader } from './change-leader.ts';
import { type ClientProgram, clientPrograms } from './client-program.ts';
import { runProgram } from './run-program.ts';

const help = `npm run clients -- NAME...|all

Each is installed into a temporary directory by its ordinary package manager, run, and removed:
${clientPrograms.map(({ name, of, needs }) => `  ${name.padEnd(16)} ${of}${needs.length === 0 ? '' : ` (needs ${needs.join(', ')})`}`).join('\n')}

PgBouncer in front, psql, pgbench and pg_dump are in harness/clients/clients.e2e.test.ts.`;

function chosen(names: readonly string[]): readonly ClientProgram[] | string {
  if (names.length === 1 && names[0] === 'all') return clientPrograms;
  const found = names.map((name) => clientPrograms.find((program) => program.name === name) ?? name);
  const unknown = found.filter((each) => typeof each === 'string');
  if (unknown.length > 0) return `There is no client ${unknown.join(', ')}.`;
  const programs = found.filter((each) => typeof each !== 'string');
  const missing = programs
    .flatMap(({ needs }) => needs)
    .filter((need) => spawnSync(need, ['--version']).error);
  return missing.length === 0 ? programs : `These programs are not installed: ${missing.join(', ')}.`;
}

async function runAll(programs: readonly ClientProgram[], signal: AbortSignal): Promise<number> {
  const cluster = await startCluster();
  let failed = 0;
  try {
    for (const program of programs) {
      signal.throwIfAborted();
      const report = await runProgram(
        program,
        { ports: cluster.pgwirePorts, changeLeader: () => changeLeader(cluster) },
        signal,
      ).catch((error: unknown) => ({ complaints: [String(error)], transfers: 0, retries: 0, seconds: 0 }));
      const { complaints, transfers, retries, seconds } = report;
      const figures = `${transfers} transfers, ${retries} retries, ${seconds.toFixed(1)} s`;
      console.log(`${complaints.length === 0 ? 'ok   ' : 'WRONG'} ${program.name.padEnd(16)} ${figures}`);
      for (const complaint of complaints) console.log(`      ${complaint}`);
      if (complaints.length > 0) failed += 1;
    }
  } finally {
    await cluster.stop();
  }
  console.log(`${programs.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

const names = process.argv.slice(2);
if (names.length === 0 || names.includes('--help')) {
  console.log(help);
  process.exitCode = names.length === 0 ? 2 : 0;
} else {
  const programs = chosen(names);
  if (typeof programs === 'string') {
    console.error(`${programs}\n\n${help}`);
    process.exitCode = 2;
  } else {
    const abort = new AbortController();
    for (const name of ['SIGINT', 'SIGTERM'] as const)
      process.on(name, () => abort.abort(new Error('ended')));
    process.exitCode = await runAll(programs, abort.signal);
  }
}
