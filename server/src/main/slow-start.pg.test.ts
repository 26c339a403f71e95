/** A real replica whose new database takes its time: it says what is being done, and can be stopped meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testBinaries } from '../adapters/postgres/testing/test-instance.ts';
import { foundReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';
import { eventually } from '../ports/testing/eventually.ts';

let root = '';
let group: RealGroup;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-slow-'));
  group = await RealGroup.in(root, ['r1']);
  await foundReplica(group.configOf('r1'));
});
afterAll(async () => {
  await group.stopAll();
  rmSync(root, { recursive: true, force: true });
});

/** The real programs, but for an initdb that does not come to an end. */
async function slowPrograms(): Promise<string> {
  const pgBin = join(root, 'bin');
  await mkdir(pgBin);
  await symlink((await testBinaries()).postgres, join(pgBin, 'postgres'));
  await writeFile(join(pgBin, 'initdb'), '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
  return pgBin;
}

it('says that a database is being created, stops at once, and begins again', async () => {
  const { postgres } = group.configOf('r1');
  const starting = { postgres: { ...postgres, pgBin: await slowPrograms() } };
  await group.start('r1', starting);
  await eventually(() =>
    expect(group.statusOf('r1')).toMatchObject({
      state: 'starting',
      message: 'A new database is being created.',
    }),
  );
  // Ends long before initdb would, or the test does not.
  await group.stop('r1');
  await group.start('r1');
  await group.healthy();
  await group.sql('CREATE TABLE drinks (id int PRIMARY KEY)');
  expect(group.statusOf('r1').message).toBeNull();
});
