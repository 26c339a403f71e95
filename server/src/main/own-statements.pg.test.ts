/** Every statement of Barista's own, as PostgreSQL has it in its log, beside what a hostile client can make: while a group does all that it ever does. */
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testRestore } from '../adapters/postgres/backup/restore-test.ts';
import { unqualifiedNames } from '../adapters/postgres/testing/unqualified-names.ts';
import { testBinaries } from '../adapters/postgres/testing/test-instance.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { foundReplica, restoreReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';
import { backupAt, unobserved } from './testing/restoring.ts';
import { loggedMessages, recordingSettings, statementsIn, type LoggedMessage } from './testing/server-log.ts';

const ids = ['r1', 'r2'];
let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'barista-own-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('payload wal', () => {
  let group: RealGroup;
  let young: RealGroup;
  const changes = { postgres: { settings: { ...recordingSettings } } } satisfies Partial<ReplicaConfig>;
  const logs: LoggedMessage[] = [];
  const gather = (of: RealGroup): void => {
    for (const id of of.ids) logs.push(...loggedMessages(of.configOf(id).dataDir));
  };

  beforeAll(async () => {
    group = await RealGroup.in(join(root, 'wal'), ids);
    young = await RealGroup.in(join(root, 'young'), ['r1']);
    await foundReplica(group.configOf('r1'));
    for (const id of ids) await group.start(id, changes);
    await group.healthy();
  }, 120_000);
  afterAll(async () => {
    await group.stopAll();
    await young.stopAll();
  });

  it('does everything', async () => {
    await group.sql('CREATE TABLE t (id serial PRIMARY KEY, name text)');
    await group.sql("INSERT INTO t (name) VALUES ('a')");
    expect(await group.askLeader((admin) => admin.verify({ repair: false }))).toMatchObject({
      replicas: ids.map((replica) => ({ replica, outcome: 'equal' })),
    });
    const taken = await group.adminOf(group.leader()!).backup();
    if (!taken.ok) throw new Error(taken.error.message);
    const file = join(root, 'backup');
    await pipeline(taken.answer, createWriteStream(file));
    const report = await testRestore({
      file,
      directory: join(root, 'tested'),
      binaries: await testBinaries(),
      archive: null,
    });
    expect(report.complaints).toEqual([]);
    const [follower] = group.followers();
    await group.askLeader((admin) =>
      admin.transferLeadership({ to: follower as never, transactionMs: 1000 }),
    );
    await group.healthy();
    const other = group.followers()[0]!;
    await group.stop(other);
    gather(group);
    rmSync(join(group.configOf(other).dataDir, 'postgres'), { recursive: true });
    await group.start(other, changes);
    await group.healthy();
    await restoreReplica(young.configOf('r1'), backupAt(file), unobserved);
    await young.start('r1', changes);
    await young.healthy();
  }, 300_000);

  it('names are qualified', async () => {
    gather(group);
    gather(young);
    const own = statementsIn(logs.filter(({ user }) => user === 'postgres'));
    const wrong: string[] = [];
    for (const statement of own) {
      const names = await unqualifiedNames(statement).catch((error: unknown) => [String(error)]);
      if (names.length > 0) wrong.push(`${statement}\n   ${[...new Set(names)].join(', ')}`);
    }
    console.log(own.length, wrong.length);
    (await import('node:fs')).writeFileSync('/tmp/h6/wrong.txt', wrong.join('\n\n'));
    (await import('node:fs')).writeFileSync('/tmp/h6/own.txt', own.join('\n\n'));
    expect(wrong).toEqual([]);
  });
});
