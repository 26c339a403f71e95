import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { databaseToKeep, foundReplica, keepDatabase, restoreReplica } from './found-replica.ts';
import { configOfOne } from './testing/config-of-one.ts';

let root = '';
let config: ReplicaConfig;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'barista-found-'));
  config = configOfOne(root);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
}

describe.each([
  ['init', () => foundReplica(config)],
  ['restore', () => restoreReplica(config, join(root, 'backup'), () => {})],
])('%s', (_command, found) => {
  it('refuses a data directory with a copy that was never put in place, and says whose it is', async () => {
    write('incoming/received.json', JSON.stringify({ group: 'old', cluster: 'c7' }));
    await expect(found()).rejects.toThrow(
      /incoming holds the database of cluster c7 \(group old\), which was never put in place.*Move it away/,
    );
    expect(readdirSync(root)).toEqual(['incoming']);
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

it('init removes what was copied only in part', async () => {
  write('incoming/data/PG_VERSION', '18');
  await foundReplica(config);
  expect(readdirSync(root)).toEqual(['log']);
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
    write('postgres/data/PG_VERSION', '18');
    write('postgres.condemned.json', '{}');
    await expect(work()).rejects.toThrow(/was given up before: .*postgres\.condemned\.json says why/);
  });

  it('needs one that is whole', async () => {
    write('postgres/data/half', '');
    await expect(work()).rejects.toThrow(/The database cannot be kept: /);
  });

  it('is refused where a log is', async () => {
    await foundReplica(config);
    await expect(work()).rejects.toThrow(/has a log already/);
  });
});
