/**
 * SQL that made replicas differ, that let a client become superuser, or that was refused, while row effects and statements travelled: now every replica shows the same, and what it should.
 *
 * All against one demo of three replicas, through its leader's port. `harness/divergences/main.ts --on native` holds PostgreSQL with standbys of its own against the same scenarios.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BaristaSystems, requireBuilt, startBarista } from '../bench/compare/systems/barista.ts';
import { allScenarios } from './all-scenarios.ts';
import { runScenario } from './run-scenario.ts';
import { differences } from './same-everywhere.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const marker = join(tmpdir(), `barista-divergences-marker-${process.pid}`);
const { signal } = new AbortController();
let root: string;
let replicas: BaristaSystems;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-divergences-'));
  replicas = await startBarista(requireBuilt(checkout), join(root, 'demo'));
});
afterAll(async () => {
  await replicas.stop();
  await rm(root, { recursive: true, force: true, maxRetries: 5 });
  await rm(marker, { force: true });
});

test.each(allScenarios(marker))('$name: $what', async (scenario) => {
  expect(await runScenario(replicas.barista, scenario, signal)).toEqual([]);
  // No superuser has run what a client wrote.
  expect(existsSync(marker)).toBe(false);
});

test('all replicas hold the same, catalogs and places of rows included', async () => {
  expect(await differences(replicas.barista, 'physical', signal)).toEqual([]);
});
