/**
 * `npx tsx harness/divergences/main.ts [options]`: SQL that made replicas differ, or was refused, against replicas; says what is not as it must be.
 *
 * Exit codes: 0 all is well, 1 something is not, 2 wrong option.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { requireBuilt, startBarista } from '../bench/compare/systems/barista.ts';
import { startNative } from '../bench/compare/systems/native.ts';
import type { System } from '../bench/compare/systems/system.ts';
import { freePorts } from '../../server/src/adapters/testing/ports.ts';
import { allScenarios } from './all-scenarios.ts';
import { runScenario } from './run-scenario.ts';
import { differences, type Depth } from './same-everywhere.ts';

const help = `npx tsx harness/divergences/main.ts [options]

Options:
  --on SYSTEM      demo: three replicas; native: PostgreSQL with two standbys of its own, to see what the scenarios are worth (default: demo)
  --checkout DIR   demo: of another checkout, which is built (default: this one)
  --only TEXT      scenarios whose names contain it
  --logical        compare rows only, not their places and the catalogs
  --help`;

interface Running {
  readonly system: System;
  stop(): Promise<unknown>;
}

async function start(on: string, checkout: string, root: string): Promise<Running> {
  if (on === 'native') {
    const settings = { max_connections: '200', max_prepared_transactions: '200', timezone: 'UTC' };
    const native = await startNative({ root: join(root, 'native'), port: await freePorts(4), settings });
    return { system: native.native, stop: () => native.stop() };
  }
  const replicas = await startBarista(requireBuilt(checkout), join(root, 'demo'));
  return { system: replicas.barista, stop: () => replicas.stop() };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      on: { type: 'string', default: 'demo' },
      checkout: { type: 'string', default: fileURLToPath(new URL('../..', import.meta.url)) },
      only: { type: 'string', default: '' },
      logical: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help || (values.on !== 'demo' && values.on !== 'native')) {
    console.log(help);
    return values.help ? 0 : 2;
  }
  const abort = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => abort.abort(new Error('ended')));
  const root = await mkdtemp(join(tmpdir(), 'barista-divergences-'));
  const marker = join(root, 'superuser-was-here');
  const running = await start(values.on, values.checkout, root);
  try {
    return (await runAll(
      running.system,
      marker,
      values.only,
      values.logical ? 'logical' : 'physical',
      abort.signal,
    )) === 0
      ? 0
      : 1;
  } finally {
    await running.stop();
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The number of complaints. */
async function runAll(
  system: System,
  marker: string,
  only: string,
  depth: Depth,
  signal: AbortSignal,
): Promise<number> {
  let wrong = 0;
  const complain = (name: string, complaints: readonly string[]): void => {
    console.log(`${complaints.length === 0 ? 'ok   ' : 'WRONG'} ${name}`);
    for (const complaint of complaints) console.log(`        ${complaint}`);
    wrong += complaints.length;
  };
  for (const scenario of allScenarios(marker)) {
    if (!scenario.name.includes(only)) continue;
    signal.throwIfAborted();
    const complaints = await runScenario(system, scenario, signal).catch((error: unknown) => [String(error)]);
    const left = existsSync(marker) ? ['a superuser has run what a client wrote'] : [];
    await rm(marker, { force: true });
    complain(`${scenario.name}: ${scenario.what}`, [...complaints, ...left]);
  }
  complain('all replicas hold the same', await differences(system, depth, signal));
  return wrong;
}

process.exitCode = await main();
