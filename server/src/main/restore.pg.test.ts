/** A backup of a running group, and a new group that is founded on it. */
import { createWriteStream, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { copyFile, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeSegmentHeader, segmentName, type SegmentHeader } from '../adapters/segment-log/layout.ts';
import { ballotNone } from '../multipaxos/ballot.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { databaseToKeep, foundReplica, keepDatabase, restoreReplica } from './found-replica.ts';
import { createLog, openLog } from './log-store.ts';
import { RealGroup } from './testing/real-group.ts';

let root = '';
let old: RealGroup;
let young: RealGroup;
let forgetful: RealGroup;
let file = '';

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-restore-'));
  file = join(root, 'backup');
  old = await RealGroup.in(join(root, 'old'), ['r1']);
  young = await RealGroup.in(join(root, 'young'), ['r1', 'r2']);
  forgetful = await RealGroup.in(join(root, 'forgetful'), ['r1', 'r2']);
});
afterAll(async () => {
  await old.stopAll();
  await young.stopAll();
  await forgetful.stopAll();
  rmSync(root, { recursive: true, force: true });
});

/** As under load: a leader's sessions have committed slots above the pointer, and the new group uses the same numbers again. */
async function commitOutOfOrder(yes: boolean): Promise<void> {
  const statement = yes
    ? 'INSERT INTO _barista.applied_above SELECT generate_series(slot + 2, slot + 60) FROM _barista.pointer'
    : 'DELETE FROM _barista.applied_above';
  await old.inside('r1', (client) => client.query(statement));
}

/** What a log was created with. */
async function firstHeaderOf({ dataDir }: ReplicaConfig): Promise<SegmentHeader> {
  const verdict = decodeSegmentHeader(await readFile(join(dataDir, 'log', segmentName(1))));
  if (verdict.kind !== 'ok') throw new Error(verdict.reason);
  return verdict.header;
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
    // Not written behind it: a crash in between would have left a group that numbers its leaderships from 1.
    expect((await firstHeaderOf(young.configOf('r1'))).promised.round).toBeGreaterThanOrEqual(4);
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

  it('serves above the leaderships of its data even where the log has forgotten them', async () => {
    const config = forgetful.configOf('r1');
    await restoreReplica(config, file, () => {});
    const log = await openLog(config);
    const { identity, recovered } = log;
    await log.close();
    await rm(join(config.dataDir, 'log'), { recursive: true });
    const { configuration, purgedTo: base } = recovered;
    await (await createLog(config, { identity, configuration, base, promised: ballotNone })).close();
    await forgetful.start('r1');
    await forgetful.start('r2');
    await forgetful.healthy();
    expect(forgetful.statusOf('r1').ballot.round).toBeGreaterThan(recovered.promised.round);
    await forgetful.sql("INSERT INTO drinks (name) VALUES ('four')");
    expect(await forgetful.contentsOf('drinks')).toEqual([expect.stringMatching(/^4 /)]);
    await forgetful.stopAll();
  }, 240_000);
});

describe('a group that has lost all its logs', () => {
  it('goes on with the database of one replica, once a person has said so', async () => {
    const r1 = young.configOf('r1');
    await young.stopAll();
    for (const id of ['r1', 'r2']) rmSync(join(young.configOf(id).dataDir, 'log'), { recursive: true });
    const looked = await databaseToKeep(r1);
    expect(await databaseToKeep(r1)).toEqual(looked);
    expect(looked.pointer).toBeGreaterThan(4);
    const kept = await keepDatabase(r1);
    expect(kept).toMatchObject(looked);
    expect(kept.cluster).not.toBe(kept.dataOf);
    // The other one's database is not of this group, whatever is in it.
    await young.start('r1');
    await young.start('r2');
    await young.healthy();
    await young.sql("INSERT INTO drinks (name) VALUES ('six')");
    expect(await young.contentsOf('drinks')).toEqual([expect.stringMatching(/^6 /)]);
    expect(readdirSync(young.configOf('r2').dataDir)).toContainEqual(
      expect.stringMatching(/^postgres\.lost-/),
    );
  }, 240_000);
});
