import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ballotNone } from '../../../multipaxos/ballot.ts';
import type { ReplicaId, Slot } from '../../../multipaxos/types.ts';
import type { Lsn } from '../../../payload/wal/lsn.ts';
import { positionNone } from '../../../payload/wal/wal-history.ts';
import type { DirectoryRole } from '../../../ports/database-directory.ts';
import { readDirectoryState, writeDirectoryState } from '../directory-state.ts';
import type { ControlFacts } from './control-file.ts';
import { bothSuspicions, noSuspicion, readBasis, type Suspicion } from './copy-basis.ts';
import type { Trust } from './evidence.ts';
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
const parted = 5000 as Lsn;
const suspected: Suspicion = { hintsUntrusted: false, parted };

async function mark(changes: Partial<MarkOptions> = {}): Promise<Trust> {
  const before = { isThere: true, state: await readDirectoryState(directory).catch(() => null), control };
  const from = 'r2' as ReplicaId;
  return markCopying({
    directory,
    owner,
    before,
    suspicion: noSuspicion,
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
const primary: DirectoryRole = { kind: 'primary', leadership: ballotNone, hintsUntrusted: false };

describe('a directory that is copied into', () => {
  it('says so, keeps the position that it had, and cannot be started', async () => {
    await make(standby);
    expect(await mark()).toEqual({ positions: true, parted: null });
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

  it('is made if it is not there', async () => {
    const trust = await mark({ before: { isThere: false, state: null, control: null } });
    expect(trust).toEqual({ positions: true, parted: null });
    expect(await lookAt(directory, owner)).toMatchObject({
      isThere: true,
      state: { role: { kind: 'copying' } },
      control: null,
    });
  });

  it('is a standby’s when the copy is complete, and nothing is suspected any more', async () => {
    await make(primary);
    await mark({ suspicion: { hintsUntrusted: true, parted } });
    await markStandby(directory, { role: standby, position, configuration: null });
    expect((await readDirectoryState(directory))?.role).toEqual(standby);
    expect(await mark()).toEqual({ positions: true, parted: null });
  });
});

describe('blocks are believed', () => {
  it('up to where histories part, of a leader’s directory', async () => {
    await make(primary);
    expect(await mark({ suspicion: suspected })).toEqual({ positions: true, parted });
  });

  it('not at all where hints are not, where nobody knows where a leader’s history parts, or whose they are', async () => {
    await make(primary);
    expect((await mark({ suspicion: { hintsUntrusted: true, parted } })).positions).toBe(false);
    await make(primary);
    expect((await mark()).positions).toBe(false);
    await make({ ...primary, hintsUntrusted: true });
    expect((await mark({ suspicion: suspected })).positions).toBe(false);
    await make({ kind: 'promoting', leadership: ballotNone });
    expect((await mark()).positions).toBe(false);
    await make(standby);
    expect((await mark({ before: { isThere: true, state: null, control } })).positions).toBe(false);
    await make(standby);
    const state = await readDirectoryState(directory);
    expect((await mark({ before: { isThere: true, state, control: null } })).positions).toBe(false);
    await make(standby);
    expect((await mark({ sourceControl: { ...control, checksums: false } })).positions).toBe(false);
    await make(standby);
    expect(
      (await mark({ before: { isThere: true, state, control: { ...control, checksums: false } } })).positions,
    ).toBe(false);
  });

  it('as before by the next attempt, which knows less', async () => {
    await make(primary);
    await mark({ suspicion: suspected });
    // pg_control is gone; what the directory is of stands in the note.
    const again = async (changes: Partial<MarkOptions> = {}): Promise<Trust> =>
      mark({ before: await lookAt(directory, owner), ...changes });
    expect(await again()).toEqual({ positions: true, parted });
    const lower = { hintsUntrusted: false, parted: 3000 as Lsn };
    expect(await again({ suspicion: lower })).toEqual({ positions: true, parted: 3000 });
    expect(await again()).toEqual({ positions: true, parted: 3000 });
    await expect(again({ sourceControl: { ...control, system: 8n } })).rejects.toMatchObject({
      code: 'unlike',
    });
    await writeFile(join(directory, 'copy.json'), 'torn');
    expect((await again()).positions).toBe(false);
  });

  it('no more after an attempt from a primary: what it sent may never have been chosen', async () => {
    await make(standby);
    expect((await mark({ source: 'primary' })).positions).toBe(true);
    expect((await readBasis(directory)).hintsUntrusted).toBe(true);
    expect((await mark({ before: await lookAt(directory, owner) })).positions).toBe(false);
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

it('of two suspicions the worse holds', () => {
  const low = { hintsUntrusted: false, parted: 10 as Lsn };
  const high = { hintsUntrusted: true, parted: 20 as Lsn };
  expect(bothSuspicions(low, high)).toEqual({ hintsUntrusted: true, parted: 10 });
  expect(bothSuspicions(noSuspicion, high)).toEqual(high);
  expect(bothSuspicions(noSuspicion, noSuspicion)).toEqual(noSuspicion);
});
