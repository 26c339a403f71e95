import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { positionNone } from '../../wal/position.ts';
import type { DatabaseDirectory, DirectoryState, Loss } from '../../ports/database-directory.ts';
import { inspectDatabase, openDatabaseDirectory, placesOf, type Places } from './database-directory.ts';
import type { SetAside } from './set-aside.ts';
import { testBinaries } from './testing/test-instance.ts';

const cluster = 'c1';
const position = { ...positionNone, slot: 9 as Slot };
const asStandby: DirectoryState = { role: { kind: 'standby' }, position, configuration: null };
const differs: Loss = { cause: 'diverged', reason: 'a row differs', equal: ['r2', 'r3'] as ReplicaId[] };

let root = '';
let places: Places;
let directory: DatabaseDirectory;
let aside: SetAside[] = [];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-directory-'));
  places = placesOf(join(root, 'r1'));
  await open();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** As the next life of the process does. */
async function open(): Promise<void> {
  aside = [];
  const binaries = await testBinaries();
  directory = openDatabaseDirectory({ places, cluster, binaries, onSetAside: (what) => aside.push(what) });
  await directory.inspect();
}

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** All that a look at a database's files wants to see. `owner` null: it does not say whose it is. */
async function makeDatabase(
  owner: string | null = cluster,
  state: DirectoryState | null = asStandby,
): Promise<void> {
  for (const name of ['base', 'pg_wal', 'pg_xact', 'pg_multixact', 'pg_tblspc', 'pg_twophase'])
    mkdirSync(join(places.data, name), { recursive: true });
  write(join(places.data, 'PG_VERSION'), '18\n');
  write(join(places.data, 'global', 'pg_control'), Buffer.alloc(8192, 1));
  if (owner !== null) write(places.cluster, `${owner}\n`);
  if (state !== null) await directory.write(state);
}

function names(): string[] {
  return readdirSync(places.dataDir).sort();
}

describe('what is there', () => {
  it('is nothing at first, even where the log has made no directory', async () => {
    rmSync(places.dataDir, { recursive: true });
    expect(await directory.inspect()).toEqual({ kind: 'missing' });
    await directory.condemn(differs);
    expect(await directory.condemned()).toEqual(differs);
  });

  it('is usable with what its state says', async () => {
    await makeDatabase();
    expect(await directory.inspect()).toEqual({ kind: 'usable', state: asStandby });
  });

  it('is half a copy, and not lost, when it has no control file and says so', async () => {
    const role = { kind: 'copying', from: 'r2' as ReplicaId } as const;
    await makeDatabase(cluster, { ...asStandby, role });
    rmSync(join(places.data, 'global', 'pg_control'));
    expect(await directory.inspect()).toEqual({ kind: 'usable', state: { ...asStandby, role } });
  });

  it('is lost without a state, for nobody knows how far it is', async () => {
    await makeDatabase(cluster, null);
    const reason = expect.stringContaining('state.json is missing') as string;
    expect(await directory.inspect()).toEqual({ kind: 'lost', reason });
  });

  it('is never taken for its own when it is of another group, or does not say of which', async () => {
    await makeDatabase('c0');
    const reason = expect.stringMatching(/holds the data of another group \(c0\)$/) as string;
    expect(await directory.inspect()).toEqual({ kind: 'foreign', reason });
    // Nobody to compare with: what a founder may build on.
    expect(await inspectDatabase(places, null)).toEqual({ kind: 'usable', state: asStandby });
    rmSync(places.cluster);
    const silent = expect.stringMatching(/does not say of which group$/) as string;
    expect(await directory.inspect()).toEqual({ kind: 'foreign', reason: silent });
  });

  it.each([
    ['its version', 'PG_VERSION', /has no PG_VERSION/],
    ['its control file', join('global', 'pg_control'), /pg_control is missing/],
    ['its WAL', 'pg_wal', /has no directory pg_wal/],
    ['the state of its transactions', 'pg_xact', /has no directory pg_xact/],
  ])('is lost without %s', async (_what, path, why) => {
    await makeDatabase();
    rmSync(join(places.data, path), { recursive: true });
    const reason = expect.stringMatching(why) as string;
    expect(await directory.inspect()).toEqual({ kind: 'lost', reason });
  });

  it('is lost when its control file is cut off or zeroed', async () => {
    await makeDatabase();
    const path = join(places.data, 'global', 'pg_control');
    for (const [content, why] of [
      [Buffer.alloc(100, 1), /has 100 bytes instead of 8192/],
      [Buffer.alloc(8192), /holds zeros/],
    ] as const) {
      writeFileSync(path, content);
      const reason = expect.stringMatching(why) as string;
      expect(await directory.inspect()).toEqual({ kind: 'lost', reason });
    }
  });

  it.each(['', '{"version": 2}'])('is lost when its state is damaged: %j', async (text) => {
    await makeDatabase();
    write(join(places.postgres, 'state.json'), text);
    const reason = expect.stringMatching(/state\.json (?:is no JSON|cannot be understood)/) as string;
    expect(await directory.inspect()).toEqual({ kind: 'lost', reason });
  });

  it('is an error, and nothing that may be replaced, when another version wrote its state', async () => {
    await makeDatabase();
    write(join(places.postgres, 'state.json'), '{"version": 3}');
    await expect(directory.inspect()).rejects.toThrow(/state\.json cannot be understood/);
  });
});

describe('a database that is condemned', () => {
  it('stays so over the end of the process, with all that is known of its loss, until it is acquitted', async () => {
    await makeDatabase();
    expect(await directory.condemned()).toBeNull();
    await directory.condemn(differs);
    await open();
    expect(await directory.condemned()).toEqual(differs);
    await directory.acquit();
    await directory.acquit();
    expect(await directory.condemned()).toBeNull();
    expect(names()).toEqual(['postgres']);
  });

  it.each(['', '{"loss": {"cau', 'null', '{}'])('stays so whatever its note says: %j', async (text) => {
    await makeDatabase();
    write(places.condemned, text);
    expect(await directory.condemned()).toMatchObject({ cause: 'databaseLost' });
    await directory.setAside();
    expect(aside).toHaveLength(1);
  });

  it('is moved out of the way once; the copy that is begun in its place stays', async () => {
    await makeDatabase();
    await directory.condemn(differs);
    await directory.setAside();
    expect(await directory.inspect()).toEqual({ kind: 'missing' });
    expect(await directory.condemned()).toEqual(differs);
    const kept = aside[0]?.setAside ?? '';
    expect(kept).toMatch(/postgres\.lost-/);
    expect(existsSync(join(kept, 'data', 'PG_VERSION'))).toBe(true);
    // Half a copy, and the next life of the process.
    const copying = { kind: 'copying', from: 'r2' as ReplicaId } as const;
    await makeDatabase(cluster, { ...asStandby, role: copying });
    await open();
    expect(await directory.condemned()).toEqual(differs);
    await directory.setAside();
    expect(aside).toEqual([]);
    expect(await directory.inspect()).toMatchObject({ kind: 'usable', state: { role: copying } });
  });

  it('is forgotten when a whole copy has taken its place and only the note was left', async () => {
    await makeDatabase();
    await directory.condemn(differs);
    await directory.setAside();
    await makeDatabase();
    await open();
    expect(await directory.condemned()).toBeNull();
    expect(names()).toEqual(['postgres', expect.stringMatching(/^postgres\.lost-/)]);
  });

  it('is not forgotten when it was never moved, though it is a standby’s by its state', async () => {
    await makeDatabase();
    await directory.condemn(differs);
    await open();
    expect(await directory.condemned()).toEqual(differs);
  });

  it('is told with its path when it is moved, as is what is removed for it; the newest two are kept', async () => {
    for (let times = 1; times <= 4; times += 1) {
      await makeDatabase();
      await directory.condemn(differs);
      await directory.setAside();
    }
    const kept = aside.map(({ setAside }) => setAside ?? '');
    expect(new Set(kept).size).toBe(4);
    expect(aside.flatMap(({ removed }) => removed)).toEqual(kept.slice(0, 2));
    const left = names().filter((name) => name.includes('lost'));
    expect(left.map((name) => join(places.dataDir, name))).toEqual(kept.slice(2));
  });

  it('needs no moving when there is none', async () => {
    await directory.setAside();
    expect([aside, names()]).toEqual([[], []]);
    await directory.condemn(differs);
    await directory.setAside();
    expect(aside).toEqual([{ setAside: null, removed: [] }]);
  });
});
