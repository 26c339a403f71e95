import { chmod, lstat, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Account,
  type Accounts,
  chooseAccount,
  closedDirectory,
  type LaunchUser,
  mayEnter,
  preparePlace,
} from './launch-user.ts';
import { handOver, prepareDirectory } from './owners.ts';
import { chooseSocketDirectory, sharedMemorySettings } from './data-directory.ts';
import { reachablePrograms } from './reachable-programs.ts';

const postgres: Account = { name: 'postgres', uid: 101, gid: 104 };
const barista: Account = { name: 'barista', uid: 990, gid: 990 };
const nobody: Account = { name: 'nobody', uid: 65534, gid: 65534 };
const root: Account = { name: 'root', uid: 0, gid: 0 };

function system(ownUid: number, ...accounts: readonly Account[]): Accounts {
  return { ownUid, find: (name) => accounts.find((account) => account.name === name) ?? null };
}

describe('the account that PostgreSQL runs as', () => {
  it('is that of the replica, which is not root', () => {
    expect(chooseAccount(undefined, system(1000, postgres))).toEqual({ kind: 'self' });
  });

  it.each([
    { there: [nobody, barista, postgres], name: 'postgres' },
    { there: [nobody, barista], name: 'barista' },
    { there: [nobody], name: 'nobody' },
    { there: [{ ...postgres, uid: 0 }, nobody], name: 'nobody' },
  ])('of root is $name, the first that exists', ({ there, name }) => {
    expect(chooseAccount(undefined, system(0, ...there))).toMatchObject({ kind: 'user', name });
  });

  it('is the one that is named', () => {
    expect(chooseAccount('barista', system(0, postgres, barista))).toEqual({ kind: 'user', ...barista });
    expect(chooseAccount('barista', system(barista.uid, barista))).toEqual({ kind: 'self' });
  });

  it('is never root, unknown, or another one where only root could change it', () => {
    expect(() => chooseAccount('root', system(0, root))).toThrow(/does not run as root/);
    expect(() => chooseAccount('babrista', system(0, postgres))).toThrow(/no account "babrista" \(--user\)/);
    expect(() => chooseAccount('barista', system(1000, barista))).toThrow(/Only root can/);
    expect(() => chooseAccount(undefined, system(0))).toThrow(/useradd --system postgres/);
  });
});

it('a directory is entered by the bits of the owner, the group or the others, one of them only', () => {
  expect(mayEnter(postgres, { uid: 101, gid: 0, mode: 0o40611 })).toBe(false);
  expect(mayEnter(postgres, { uid: 0, gid: 104, mode: 0o40701 })).toBe(false);
  expect(mayEnter(postgres, { uid: 0, gid: 0, mode: 0o40711 })).toBe(true);
});

const user: LaunchUser = { kind: 'user', ...nobody };
let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'barista-account-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(dir, { recursive: true, force: true });
});

it('programs where the account cannot enter are copied to where it can, once', async () => {
  const native = join(dir, 'native');
  await mkdir(join(native, 'bin'), { recursive: true });
  await writeFile(join(native, 'bin', 'postgres'), 'a program');
  const cache = join(dir, 'cache');
  const copy = await reachablePrograms(user, native, cache);
  expect(copy.startsWith(join(cache, 'postgres-'))).toBe(true);
  expect(basename(copy)).toBe('native');
  expect((await stat(dirname(copy))).mode & 0o777).toBe(0o755);
  expect((await stat(join(copy, 'bin', 'postgres'))).size).toBe(9);
  expect(await reachablePrograms(user, native, cache)).toBe(copy);
  expect(await reachablePrograms({ kind: 'self' }, native, cache)).toBe(native);
  await chmod(dir, 0o711);
  expect(await reachablePrograms(user, native, cache)).toBe(native);
});

it('PostgreSQL shares memory another way where its account may not write to the usual place', async () => {
  await chmod(dir, 0o1777);
  expect(await sharedMemorySettings(user, dir)).toEqual({});
  await chmod(dir, 0o755);
  expect(await sharedMemorySettings(user, dir)).toEqual({ dynamic_shared_memory_type: 'sysv' });
  expect(await sharedMemorySettings({ kind: 'self' }, dir)).toEqual({});
  expect(await sharedMemorySettings(user, join(dir, 'none'))).toHaveProperty('dynamic_shared_memory_type');
});

describe.runIf(process.getuid?.() === 0)('as root', () => {
  it('a directory changes hands with all that is in it, and what links lead to does not', async () => {
    const other = join(dir, 'other');
    await writeFile(other, '', { mode: 0o600 });
    const data = join(dir, 'place', 'data');
    await mkdir(join(data, 'base'), { recursive: true });
    await symlink(other, join(data, 'base', 'link'));
    await handOver(user, data);
    expect((await lstat(join(data, 'base', 'link'))).uid).toBe(nobody.uid);
    expect((await stat(join(data, 'base'))).uid).toBe(nobody.uid);
    expect((await stat(other)).uid).toBe(0);
  });

  it('a place of the replica stays its own, and is passed through', async () => {
    const place = join(dir, 'r1', 'postgres');
    await prepareDirectory(user, place);
    await preparePlace(user, place);
    expect(await stat(place)).toMatchObject({ uid: 0 });
    expect((await stat(place)).mode & 0o777).toBe(0o701);
    expect(await closedDirectory(user, place)).toBe(null);
  });

  it('a place that a copy has made anew is passed through on the way to a socket', async () => {
    vi.stubEnv('TMPDIR', join(dir, 'elsewhere'));
    await chmod(dir, 0o755);
    const place = join(dir, 'postgres');
    await mkdir(place, { mode: 0o700 });
    await chooseSocketDirectory(user, join(place, 'feed'));
    expect(await closedDirectory(user, place)).toBe(null);
  });

  it('a directory that is closed, and not temporary, stays closed: one sentence says which it is', async () => {
    const closed = join(dir, 'home');
    await mkdir(closed, { mode: 0o700 });
    vi.stubEnv('TMPDIR', join(dir, 'elsewhere'));
    await chmod(dir, 0o755);
    await expect(preparePlace(user, join(closed, 'r1'))).rejects.toThrow(
      `runs as the account "nobody", which cannot enter ${closed}. Use a directory that every account may enter`,
    );
    expect((await stat(closed)).mode & 0o777).toBe(0o700);
  });
});
