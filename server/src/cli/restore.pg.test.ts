/** A backup of a running group, and a new group that is founded on it. */
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { truncate, copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { foundReplica, restoreReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';

let root = '';
let old: RealGroup;
let young: RealGroup;
let file = '';

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-restore-'));
  file = join(root, 'backup');
  old = await RealGroup.in(join(root, 'old'), ['r1']);
  young = await RealGroup.in(join(root, 'young'), ['r1', 'r2']);
});
afterAll(async () => {
  await old.stopAll();
  await young.stopAll();
  rmSync(root, { recursive: true, force: true });
});

/** As under load: a leader's sessions have committed slots above the pointer, and the new group uses the same numbers again. */
async function commitOutOfOrder(yes: boolean): Promise<void> {
  const statement = yes
    ? 'INSERT INTO _barista.applied_above SELECT generate_series(slot + 2, slot + 60) FROM _barista.pointer'
    : 'DELETE FROM _barista.applied_above';
  await old.inside('r1', (client) => client.query(statement));
}

describe('a backup', () => {
  it('is taken of a replica that serves', async () => {
    await foundReplica(old.configOf('r1'));
    await old.start('r1');
    await old.healthy();
    await old.sql('CREATE TABLE drinks (id serial PRIMARY KEY, name text)');
    // Several leaderships: the data names the last of them.
    for (const name of ['one', 'two', 'three']) {
      await old.sql(`INSERT INTO drinks (name) VALUES ('${name}')`);
      await old.stop('r1');
      await old.start('r1');
      await old.healthy();
    }
    await commitOutOfOrder(true);
    const backup = await old.adminOf('r1').backup();
    if (!backup.ok) throw new Error(backup.error.message);
    await pipeline(backup.answer, createWriteStream(file));
    await commitOutOfOrder(false);
    await old.sql("INSERT INTO drinks (name) VALUES ('too late')");
    expect(statSync(file).size).toBeGreaterThan(1_000_000);
  }, 240_000);

  it('that is not whole founds nothing', async () => {
    const cut = join(root, 'cut');
    await copyFile(file, cut);
    await truncate(cut, 100_000);
    await expect(restoreReplica(young.configOf('r1'), cut, () => {})).rejects.toThrow(
      /Cannot restore.*cut off/,
    );
  });

  it('founds a new group that takes in others and goes on', async () => {
    const restored = await restoreReplica(young.configOf('r1'), file, () => {});
    const founded = await restoreReplica(young.configOf('r1'), file, () => {}).catch(String);
    expect(founded).toMatch(/has a log already/);
    expect(restored.cluster).not.toBe(restored.backupOf);
    await young.start('r1');
    await young.start('r2');
    await young.healthy();
    expect(await young.sql('SELECT name FROM drinks ORDER BY id')).toEqual([['one'], ['two'], ['three']]);
    await young.sql("INSERT INTO drinks (name) VALUES ('four')");
    expect(await young.contentsOf('drinks')).toEqual([expect.stringMatching(/^4 /)]);
    await young.stop('r2');
    await young.start('r2');
    await young.healthy();
    await young.sql("INSERT INTO drinks (name) VALUES ('five')");
    expect(await young.contentsOf('drinks')).toEqual([expect.stringMatching(/^5 /)]);
  }, 240_000);
});
