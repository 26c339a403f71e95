/** A volume that is mounted where only a directory can be replaced. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openDatabaseDirectory, placesOf } from '../adapters/postgres/database-directory.ts';
import { testBinaries } from '../adapters/postgres/testing/test-instance.ts';
import { mountSmallDisk } from '../adapters/testing/small-disk.ts';
import { databaseToKeep, foundReplica, restoreReplica } from './found-replica.ts';
import { configOfOne } from './testing/config-of-one.ts';
import { backupAt, unobserved } from './testing/restoring.ts';

const root = mkdtempSync(join(tmpdir(), 'barista-mounted-'));
mkdirSync(join(root, 'postgres'));
const disk = mountSmallDisk(join(root, 'postgres'));
afterAll(() => {
  disk.remove();
  rmSync(root, { recursive: true });
});

const config = configOfOne(root);
const whatToDo = `postgres is a mount point: .* Mount the volume at ${root} or above it instead`;

describe.skipIf(!disk.isMounted)('a volume mounted at DATADIR/postgres', () => {
  it('is refused by init and restore, before anything is written', async () => {
    await expect(foundReplica(config)).rejects.toThrow(new RegExp(whatToDo));
    await expect(databaseToKeep(config)).rejects.toThrow(new RegExp(whatToDo));
    await expect(restoreReplica(config, backupAt('/backup'), unobserved)).rejects.toThrow(
      new RegExp(whatToDo),
    );
    expect(readdirSync(root)).toEqual(['postgres']);
  });

  it('is told by a replica before it starts PostgreSQL or copies anything', async () => {
    const directory = openDatabaseDirectory({
      places: placesOf(root),
      cluster: 'c',
      binaries: await testBinaries(),
      onSetAside: () => undefined,
    });
    await expect(directory.inspect()).rejects.toThrow(new RegExp(whatToDo));
    expect(readdirSync(root)).toEqual(['postgres']);
    expect(readdirSync(join(root, 'postgres'))).toEqual([]);
  });
});
