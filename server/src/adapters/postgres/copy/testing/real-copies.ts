/** A PostgreSQL of its own for the contract of copies, which go over a real socket. */
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CopyFixture } from '../../../../ports/testing/copy-contract.ts';
import type { PgBinaries } from '../../binaries.ts';
import { openDatabaseDirectory, placesOf } from '../../database-directory.ts';
import { createDatabaseServer } from '../../database-server.ts';
import { connectPg } from '../../pg-client.ts';
import { RealFixture } from '../../testing/real-fixture.ts';
import { createCopySource } from '../copy-source.ts';
import { receiveCopy } from '../receive-copy.ts';
import { socketPair, testInstallation } from './copying.ts';

const cluster = 'contract';
const owner = { group: 'main', cluster };

export async function openRealCopies(binaries: PgBinaries): Promise<CopyFixture> {
  return openAt(await newRoot(), binaries);
}

function newRoot(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'barista-copies-'));
}

async function openAt(root: string, binaries: PgBinaries): Promise<CopyFixture> {
  const places = placesOf(root);
  const server = await createDatabaseServer({
    directory: places.postgres,
    binaries,
    settings: {},
    connectionsMax: 30,
    gatherMs: 0,
  });
  const directory = openDatabaseDirectory({ places, cluster, binaries, onSetAside: () => undefined });
  let pairs = 0;
  return Object.assign(new RealFixture({ root, places, binaries, server, directory, resetWal: null }), {
    source: (chosen: Parameters<CopyFixture['source']>[0]) =>
      createCopySource({
        ...chosen,
        dataDir: places.data,
        connect: () =>
          connectPg({ socketDir: server.instance.socketDir, database: 'postgres', silentMsMax: null }),
        owner,
        installation: testInstallation,
        bytesPerSecondMax: () => null,
      }),
    receive: (options: Parameters<CopyFixture['receive']>[0]) =>
      receiveCopy({ ...options, directory: places.postgres, owner, installation: testInstallation }),
    channel: () => socketPair(join(root, `pair-${(pairs += 1)}`)),
    async clone() {
      const other = await newRoot();
      const copied = placesOf(other).postgres;
      const copy = await openAt(other, binaries);
      for (const name of ['data', 'cluster', 'state.json'])
        await cp(join(places.postgres, name), join(copied, name), { recursive: true });
      return copy;
    },
  });
}
