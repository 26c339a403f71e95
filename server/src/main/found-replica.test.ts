import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeDirectoryState } from '../adapters/postgres/directory-state.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { memberName } from '../multipaxos/configuration.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { positionNone } from '../wal/position.ts';
import type { DirectoryRole } from '../ports/database-directory.ts';
import { databaseToKeep, foundReplica, keepDatabase, restoreReplica } from './found-replica.ts';
import { openLog } from './log-store.ts';
import { configOfOne } from './testing/config-of-one.ts';
import { backupAt, unobserved } from './testing/restoring.ts';

let root = '';
let config: ReplicaConfig;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'barista-found-'));
  config = configOfOne(root);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const lastLeadership = { round: 7, replica: memberName('r2' as ReplicaId, 1) };

/** A directory that looks like a whole database, of cluster c7 and with everything up to slot 40. */
function writeDatabase(role: DirectoryRole): void {
  for (const name of ['base', 'pg_wal', 'pg_xact', 'pg_multixact', 'pg_tblspc', 'pg_twophase'])
    mkdirSync(join(root, 'postgres', 'data', name), { recursive: true });
  write('postgres/data/PG_VERSION', '18\n');
  write('postgres/data/global/pg_control', Buffer.alloc(8192, 1));
  write('postgres/cluster', 'c7\n');
  const position = { ...positionNone, slot: 40 as Slot, newestStart: lastLeadership };
  const configuration = { version: 5, slot: 30 as Slot, members: [] };
  write('postgres/state.json', encodeDirectoryState({ role, position, configuration }));
}

describe.each([
  ['init', () => foundReplica(config)],
  ['restore', () => restoreReplica(config, backupAt(join(root, 'backup')), unobserved)],
])('%s', (_command, found) => {
  it('does not take a path at which nobody can look for a log', async () => {
    write('file', '');
    config = configOfOne(join(root, 'file', 'below'));
    await expect(found()).rejects.toThrow(/^locking the log: ENOTDIR/);
  });

  it('says that a restore was interrupted, and what to move away', async () => {
    write('postgres/data/PG_VERSION', '18');
    await expect(found()).rejects.toThrow(
      /postgres holds a database without the name of a group.*"barista restore" was interrupted there\. Move it away/,
    );
  });

  it('does not promise that serve lets in a replica whose log may never have been', async () => {
    write('postgres/data/PG_VERSION', '18');
    write('postgres/cluster', 'c7\n');
    await expect(found()).rejects.toThrow(
      /postgres holds a database of cluster c7, and there is no log\..*lost its log.*interrupted here.*wait for ever: move/,
    );
  });
});

describe.each([
  ['looking', () => databaseToKeep(config)],
  ['founding', () => keepDatabase(config)],
])('a group on the database that is left: %s', (_what, work) => {
  it('needs one', async () => {
    await expect(work()).rejects.toThrow(/There is no database in .*postgres to keep/);
    expect(readdirSync(root)).toEqual([]);
  });

  it('needs one that was not given up', async () => {
    writeDatabase({ kind: 'standby' });
    write('postgres.condemned.json', '{}');
    await expect(work()).rejects.toThrow(/was given up before: .*postgres\.condemned\.json says why/);
  });

  it('needs one that is whole', async () => {
    write('postgres/data/half', '');
    await expect(work()).rejects.toThrow(/The database cannot be kept: /);
  });

  it('needs one that is not half a copy of another', async () => {
    writeDatabase({ kind: 'copying', from: 'r3' as ReplicaId });
    await expect(work()).rejects.toThrow(/is half of one: it was being copied from r3/);
    expect(readdirSync(root)).toEqual(['postgres']);
  });

  it('needs one that says what is in it', async () => {
    writeDatabase({ kind: 'standby' });
    rmSync(join(root, 'postgres', 'state.json'));
    await expect(work()).rejects.toThrow(/The database cannot be kept: .*state\.json is missing/);
  });

  it('is refused where a log is', async () => {
    await foundReplica(config);
    await expect(work()).rejects.toThrow(/has a log already/);
  });
});

it('a group on the database that is left numbers everything above what its data knows', async () => {
  writeDatabase({ kind: 'primary', leadership: lastLeadership });
  const looked = await databaseToKeep(config);
  expect(looked).toEqual({ dataOf: 'c7', pointer: 40 });
  const kept = await keepDatabase(config);
  expect(kept).toMatchObject(looked);
  expect(kept.cluster).not.toBe('c7');
  const log = await openLog(config);
  const { recovered, identity } = log;
  await log.close();
  expect(identity).toEqual({ cluster: kept.cluster, member: 'r1' });
  expect(recovered).toMatchObject({ purgedTo: 40, promised: { round: 7 } });
  expect(recovered.configuration).toMatchObject({ version: 6, slot: 40 });
});
