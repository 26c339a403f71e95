import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ballotNone } from '../../../multipaxos/ballot.ts';
import type { ReplicaId, Slot } from '../../../multipaxos/types/names.ts';
import { positionNone } from '../../../wal/position.ts';
import type { DirectoryRole } from '../../../ports/database-directory.ts';
import { readDirectoryState, writeDirectoryState } from '../directory-state.ts';
import { rememberedNames } from '../remembered/remembered-file.ts';
import type { ControlFacts } from './control-file.ts';
import { readBasis } from './copy-basis.ts';
import { lookAt, markCopying, markStandby, type MarkOptions } from './target-marks.ts';

let root: string;
let directory: string;
let count = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-marks-'));
});
beforeEach(() => {
  count += 1;
  directory = join(root, `postgres-${count}`);
});
afterAll(() => rm(root, { recursive: true, force: true }));

const owner = { group: 'main', cluster: 'c1' };
const control: ControlFacts = {
  system: 7n,
  controlVersion: 1800,
  catalogVersion: 1,
  pageBytes: 8192,
  segmentPages: 131_072,
  walPageBytes: 8192,
  walSegmentBytes: 16_777_216,
  checksums: true,
};
const position = { ...positionNone, slot: 9 as Slot };

/** Whether pages may be compared by position. */
async function mark(changes: Partial<MarkOptions> = {}): Promise<boolean> {
  const before = { isThere: true, state: await readDirectoryState(directory).catch(() => null), control };
  const from = 'r2' as ReplicaId;
  return markCopying({
    directory,
    owner,
    before,
    from,
    source: 'standby',
    sourceControl: control,
    ...changes,
  });
}

async function make(role: DirectoryRole): Promise<void> {
  await mkdir(join(directory, 'data', 'global'), { recursive: true });
  await writeFile(join(directory, 'data', 'global', 'pg_control'), 'x');
  await writeDirectoryState(directory, { role, position, configuration: null });
}

const standby: DirectoryRole = { kind: 'standby' };
const primary: DirectoryRole = { kind: 'primary', leadership: ballotNone };

describe('a directory that is copied into', () => {
  it('says so, keeps the position that it had, and cannot be started', async () => {
    await make(standby);
    expect(await mark()).toBe(true);
    expect(await readDirectoryState(directory)).toEqual({
      role: { kind: 'copying', from: 'r2' },
      position,
      configuration: null,
    });
    await expect(readFile(join(directory, 'data', 'global', 'pg_control'))).rejects.toMatchObject({
      code: 'ENOENT',
    });
    expect(await readFile(join(directory, 'cluster'), 'utf8')).toBe('c1\n');
  });

  it('remembers nothing of the files that were there before', async () => {
    await make(standby);
    const paths = Object.values(rememberedNames).map((name) => join(directory, name));
    for (const path of paths) await writeFile(path, '{}');
    await mark();
    for (const path of paths) await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is made if it is not there', async () => {
    expect(await mark({ before: { isThere: false, state: null, control: null } })).toBe(true);
    expect(await lookAt(directory, owner)).toMatchObject({
      isThere: true,
      state: { role: { kind: 'copying' } },
      control: null,
    });
  });

  it('is a standby’s when the copy is complete, and is believed as such', async () => {
    await make(primary);
    expect(await mark()).toBe(false);
    await markStandby(directory, { role: standby, position, configuration: null });
    expect((await readDirectoryState(directory))?.role).toEqual(standby);
    expect(await mark()).toBe(true);
  });
});

describe('pages are compared by position', () => {
  it('of a standby, and of nothing else: whatever has led may have hints of what was never chosen', async () => {
    await make(standby);
    expect(await mark()).toBe(true);
    const others: readonly DirectoryRole[] = [
      primary,
      { kind: 'promoting', leadership: ballotNone },
      { kind: 'founder', isNew: false },
    ];
    for (const role of others) {
      await make(role);
      expect(await mark()).toBe(false);
    }
  });

  it('not where nobody knows whose they are, or there are no checksums', async () => {
    await make(standby);
    const state = await readDirectoryState(directory);
    const bare = { ...control, checksums: false };
    expect(await mark({ before: { isThere: true, state: null, control } })).toBe(false);
    expect(await mark({ before: { isThere: true, state, control: null } })).toBe(false);
    expect(await mark({ before: { isThere: true, state, control: bare } })).toBe(false);
    expect(await mark({ before: { isThere: true, state, control }, sourceControl: bare })).toBe(false);
  });

  // pg_control is gone; what the directory is of stands in the note.
  const again = async (changes: Partial<MarkOptions> = {}): Promise<boolean> =>
    mark({ before: await lookAt(directory, owner), ...changes });

  it.each([
    [standby, true],
    [primary, false],
  ])('by the next attempt as by the one that was interrupted: $kind', async (role, byPosition) => {
    await make(role);
    expect(await mark()).toBe(byPosition);
    expect([await again(), await again()]).toEqual([byPosition, byPosition]);
    await expect(again({ sourceControl: { ...control, system: 8n } })).rejects.toMatchObject({
      code: 'unlike',
    });
  });

  it.each(['torn', '{"version":1,"hintsUntrusted":false,"parted":null,"system":"7"}'])(
    'not where the note of an interrupted attempt cannot be read: %s',
    async (note) => {
      await make(standby);
      await mark();
      await writeFile(join(directory, 'copy.json'), note);
      expect(await again()).toBe(false);
    },
  );

  it('no more after an attempt from a primary: what it sent may never have been chosen', async () => {
    await make(standby);
    expect(await mark({ source: 'primary' })).toBe(true);
    expect((await readBasis(directory)).byPosition).toBe(false);
    expect(await again()).toBe(false);
  });
});

describe('a directory', () => {
  it('of another cluster, or of nobody’s, is not touched', async () => {
    await make(standby);
    await expect(lookAt(directory, owner)).rejects.toMatchObject({ code: 'unlike' });
    await writeFile(join(directory, 'cluster'), 'c2\n');
    await expect(lookAt(directory, owner)).rejects.toMatchObject({ code: 'unlike' });
    await writeFile(join(directory, 'cluster'), 'c1\n');
    expect(await lookAt(directory, owner)).toMatchObject({
      isThere: true,
      state: { role: standby },
      control: null,
    });
    await writeFile(join(directory, 'state.json'), '{');
    expect(await lookAt(directory, owner)).toMatchObject({ isThere: true, state: null });
  });
});
