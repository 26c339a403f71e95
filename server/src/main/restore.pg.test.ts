/** A backup of a running group, a new group that is founded on it, and what is done when all logs, or the only database, are lost. */
import { chmodSync, createWriteStream, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { copyFile, readFile, truncate } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeSegmentHeader, segmentName, type SegmentHeader } from '../adapters/segment-log/layout.ts';
import { backupsFor } from '../adapters/postgres/backup/backup-choice.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { databaseToKeep, foundReplica, keepDatabase, restoreReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';
import { backupAt, unobserved } from './testing/restoring.ts';
import { eventually } from '../ports/testing/eventually.ts';

let root = '';
let old: RealGroup;
let young: RealGroup;
let file = '';
/** Who reads from slots connects to it, and waits for an answer. */
const publisher = createServer(() => (subscribers += 1));
let subscribers = 0;
const backup = { directory: '', everyMinutes: 1440, keep: 2, testEveryMinutes: 0 };

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-restore-'));
  file = join(root, 'backup');
  backup.directory = join(root, 'scheduled');
  old = await RealGroup.in(join(root, 'old'), ['r1']);
  young = await RealGroup.in(join(root, 'young'), ['r1', 'r2']);
  const socket = join(root, '.s.PGSQL.5432');
  await new Promise<void>((resolve) => publisher.listen(socket, resolve));
  // PostgreSQL may run as another account.
  chmodSync(root, 0o755);
  chmodSync(socket, 0o777);
});
afterAll(async () => {
  await old.stopAll();
  await young.stopAll();
  publisher.close();
  rmSync(root, { recursive: true, force: true });
});

/** What a log was created with. */
async function firstHeaderOf({ dataDir }: ReplicaConfig): Promise<SegmentHeader> {
  const verdict = decodeSegmentHeader(await readFile(join(dataDir, 'log', segmentName(1))));
  if (verdict.kind !== 'ok') throw new Error(verdict.reason);
  return verdict.header;
}

describe('a backup', () => {
  it('is taken of a replica that serves', async () => {
    await foundReplica(old.configOf('r1'));
    // Several leaderships: the new group must number its own above them.
    for (const name of ['one', 'two', 'three']) {
      await old.start('r1', { backup });
      await old.healthy();
      await old.sql('CREATE TABLE IF NOT EXISTS drinks (id serial PRIMARY KEY, name text)');
      await old.sql(`INSERT INTO drinks (name) VALUES ('${name}')`);
      await eventually(() => expect(old.statusOf('r1').backup?.kept).toBe(1));
      if (name !== 'three') await old.stop('r1');
    }
    await old.inside('r1', async (client) => {
      await client.query(
        `CREATE SUBSCRIPTION orders CONNECTION 'host=${root} port=5432' PUBLICATION shop WITH (connect = false, slot_name = 'orders')`,
      );
      await client.query('ALTER SUBSCRIPTION orders ENABLE');
    });
    await eventually(() => expect(subscribers).toBeGreaterThan(0));
    const taken = await old.adminOf('r1').backup();
    if (!taken.ok) throw new Error(taken.error.message);
    await pipeline(taken.answer, createWriteStream(file));
    await old.inside('r1', (client) => client.query('ALTER SUBSCRIPTION orders DISABLE'));
    await old.sql("INSERT INTO drinks (name) VALUES ('too late')");
    // One a day: the lives after the first have not made another.
    expect(old.statusOf('r1').backup).toMatchObject({ kept: 1, problem: null, running: null, test: null });
    expect(await backupsFor(backup.directory, { kind: 'end' })).toEqual([
      join(backup.directory, old.statusOf('r1').backup!.newest!.name),
    ]);
    expect(statSync(file).size).toBeGreaterThan(1_000_000);
  });

  it('that is not whole founds nothing', async () => {
    const cut = join(root, 'cut');
    await copyFile(file, cut);
    await truncate(cut, 100_000);
    const r1 = young.configOf('r1');
    await expect(restoreReplica(r1, backupAt(cut), unobserved)).rejects.toThrow(/Cannot restore.*cut off/);
    await expect(databaseToKeep(r1)).rejects.toThrow(/There is no database/);
  });

  it('founds a new group that takes in others and goes on', async () => {
    const r1 = young.configOf('r1');
    await eventually(async () =>
      expect(await old.sql("SELECT FROM pg_stat_activity WHERE backend_type ~ 'logical.*worker'")).toEqual(
        [],
      ),
    );
    subscribers = 0;
    // Another one at the same time would take the files away on which PostgreSQL replays.
    let second: Promise<unknown> = Promise.resolve();
    const onStep = (): void => {
      second = restoreReplica(r1, backupAt(file), unobserved).catch((error: Error) => error.message);
    };
    const restored = await restoreReplica(r1, backupAt(file), { ...unobserved, onStep });
    expect(await second).toMatch(/in use by process/);
    await expect(restoreReplica(r1, backupAt(file), unobserved)).rejects.toThrow(/has a log already/);
    expect(restored.cluster).not.toBe(restored.backupOf);
    // Not written behind it: a crash in between would have left a group that numbers its leaderships from 1.
    expect((await firstHeaderOf(r1)).promised.round).toBeGreaterThanOrEqual(3);
    // Nor is what the old group is to have taken by the new one, once it is started.
    expect(restored.subscriptions).toEqual(['orders in barista']);
    await young.start('r1');
    await young.start('r2');
    await young.healthy();
    expect(await young.sql('SELECT name FROM drinks ORDER BY id')).toEqual([['one'], ['two'], ['three']]);
    const { rows } = await young.inside('r1', (client) =>
      client.query('SELECT subname, subenabled FROM pg_subscription'),
    );
    expect(rows).toEqual([{ subname: 'orders', subenabled: false }]);
    expect(subscribers).toBe(0);
    await young.sql("INSERT INTO drinks (name) VALUES ('four')");
    expect(await young.contentsOf('drinks')).toEqual([expect.stringMatching(/^4 /)]);
    await young.stop('r2');
    await young.start('r2');
    await young.healthy();
    await young.sql("INSERT INTO drinks (name) VALUES ('five')");
    expect(await young.contentsOf('drinks')).toEqual([expect.stringMatching(/^5 /)]);
  });
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
  });
});

describe('a replica that is its whole group', () => {
  it('cannot make its database anew of its log, and says what helps', async () => {
    await old.stop('r1');
    rmSync(join(old.configOf('r1').dataDir, 'postgres'), { recursive: true });
    await old.start('r1');
    await eventually(() => {
      const { state, message, recovery } = old.statusOf('r1');
      expect({ state, message, recovery }).toMatchObject({
        state: 'restoring',
        message: expect.stringMatching(/no other member that might have a copy: restore a backup/) as string,
      });
    });
  });
});
