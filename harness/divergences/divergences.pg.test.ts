/** What runs scenarios and what compares replicas must complain of what is not as it should be: seen with PostgreSQL and two standbys of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startNative, type NativeSystems } from '../bench/compare/systems/native.ts';
import type { System } from '../bench/compare/systems/system.ts';
import { querySql } from '../bench/sql.ts';
import { freePorts } from '../../server/src/adapters/testing/ports.ts';
import { runScenario } from './run-scenario.ts';
import { differencesOf, digestsOf } from './same-everywhere.ts';
import { inOneSession, type Scenario } from './scenario.ts';

const signal = new AbortController().signal;
let root: string;
let systems: NativeSystems;
let native: System;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-divergences-'));
  const settings = { max_connections: '100', max_prepared_transactions: '100', timezone: 'UTC' };
  systems = await startNative({ root: join(root, 'native'), port: await freePorts(4), settings });
  ({ native } = systems);
});

afterAll(async () => {
  await systems.stop();
  await rm(root, { recursive: true, force: true });
});

describe('a scenario', () => {
  const scenario = (steps: Scenario['steps'], shows: Scenario['shows'] = []): Scenario => ({
    name: 'of_the_test',
    what: '',
    steps,
    shows,
  });

  test('complains of a statement that is refused', async () => {
    const [complaint] = await runScenario(
      native,
      scenario(inOneSession('SELECT 1', 'SELECT nothing')),
      signal,
    );
    expect(complaint).toContain('step 2: SELECT nothing: 42703');
  });

  test('complains of a statement that is not refused, or otherwise', async () => {
    const wrong = [
      { session: 'a', run: 'SELECT 1', fails: '42501' },
      { session: 'a', run: 'SELECT 1/0', fails: '42501' },
    ];
    const complaints: string[] = [];
    for (const step of wrong) complaints.push(...(await runScenario(native, scenario([step]), signal)));
    expect(complaints).toEqual([
      expect.stringContaining('was not refused with 42501'),
      expect.stringContaining('22012'),
    ]);
  });

  test('complains of each replica that does not show what it should', async () => {
    const shown = { query: 'SELECT n FROM t', rows: [['1']] };
    const complaints = await runScenario(
      native,
      scenario(inOneSession('CREATE TABLE t (n int); INSERT INTO t VALUES (2)'), [shown]),
      signal,
    );
    const wrong = expect.stringContaining('[["2"]] instead of [["1"]]') as unknown;
    expect(complaints).toEqual([wrong, wrong, wrong]);
  });
});

describe('the comparison', () => {
  test('finds a row that differs, a table that is missing, and what only differs in its place', async () => {
    const both = [systems.plain, native];
    for (const [index, system] of both.entries()) {
      await querySql(
        await system.client(),
        'CREATE TABLE public.rows_differ (n int)',
        `INSERT INTO public.rows_differ VALUES (1), (${2 + index})`,
        'CREATE TABLE public.place_differs (n int)',
        `INSERT INTO public.place_differs SELECT generate_series(1, ${1 + index})`,
        'DELETE FROM public.place_differs',
        'INSERT INTO public.place_differs VALUES (7)',
        ...(index === 0 ? ['CREATE TABLE public.only_here (n int)'] : []),
      );
    }
    const databases = (await Promise.all(both.map((system) => system.databases()))).map(([first]) => first);
    const found = async (depth: 'logical' | 'physical'): Promise<string[]> => {
      const digests = await digestsOf(
        databases.filter((each) => each !== undefined),
        depth,
      );
      const names = ['public.rows_differ', 'public.place_differs', 'public.only_here'];
      return names.filter((name) => differencesOf(digests).some((line) => line.startsWith(`${name}:`)));
    };
    expect(await found('logical')).toEqual(['public.rows_differ', 'public.only_here']);
    expect(await found('physical')).toEqual([
      'public.rows_differ',
      'public.place_differs',
      'public.only_here',
    ]);
  });
});
