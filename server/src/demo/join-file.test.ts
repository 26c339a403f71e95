import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as pathOf } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { noteJoin, readJoin } from './join-file.ts';

let dir = '';
let said: string[] = [];
const read = () => readJoin(dir, (line) => said.push(line));
beforeEach(() => {
  dir = mkdtempSync(pathOf(tmpdir(), 'barista-demo-'));
  said = [];
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('who is waited for is read as it was written, until nobody is', async () => {
  expect(await read()).toBe(null);
  const join = { added: 'r4' as ReplicaId, replaced: 'r1' as ReplicaId, sinceVersion: 3 };
  await noteJoin(dir, join);
  expect(readdirSync(dir)).toEqual(['joining.json']);
  expect(await read()).toEqual(join);
  await noteJoin(dir, null);
  await noteJoin(dir, null);
  expect(await read()).toBe(null);
  expect(said).toEqual([]);
});

test('what no demo wrote is told, and nobody is waited for', async () => {
  const itself = '{"added": "r4", "replaced": "r4", "sinceVersion": 1}';
  const elsewhere = '{"added": "../r4", "replaced": null, "sinceVersion": 1}';
  for (const text of ['{"added": "r4"', elsewhere, '[]', itself]) {
    writeFileSync(pathOf(dir, 'joining.json'), text);
    expect(await read()).toBe(null);
  }
  expect(said.length).toBe(4);
  expect(said[0]).toMatch(/joining.json is not what a demo wrote.*replace it again/);
});

test('where it cannot be written, the error says which file and why', async () => {
  rmSync(dir, { recursive: true });
  const join = { added: 'r4' as ReplicaId, replaced: null, sinceVersion: 3 };
  await expect(noteJoin(dir, join)).rejects.toThrow(/Cannot write .*joining.json.*ENOENT/);
});
