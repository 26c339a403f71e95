/** For tests: a copy from one PostgreSQL to the directory of another, over a real socket. */
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { ReplicaId } from '../../../../multipaxos/types/names.ts';
import type { Lsn } from '../../../../wal/lsn.ts';
import type { CopiedDatabase, CopySource } from '../../../../ports/copy.ts';
import type { DirectoryRole } from '../../../../ports/database-directory.ts';
import { ballotNone } from '../../../../multipaxos/ballot.ts';
import { positionNone } from '../../../../wal/position.ts';
import { writeDirectoryState } from '../../directory-state.ts';
import { connectPg } from '../../pg-client.ts';
import type { DurablePosition } from '../chosen.ts';
import { type CopySourceOptions, createCopySource } from '../copy-source.ts';
import type { Installation } from '../installation.ts';
import { receiveCopy, type ReceiveCopyOptions } from '../receive-copy.ts';
import { type PlainPostgres, testOwner } from './plain-postgres.ts';

export const testInstallation: Installation = {
  majorVersion: 18,
  architecture: 'x64',
  libc: null,
  icu: null,
};

/** What it has made durable counts as chosen, as soon as it is asked for. */
export async function sourceOf(
  postgres: PlainPostgres,
  changes: Partial<CopySourceOptions> = {},
): Promise<CopySource> {
  let durable: DurablePosition = { position: await postgres.position(), configuration: null };
  return createCopySource({
    dataDir: postgres.dataDir,
    connect: () => connectPg({ socketDir: postgres.socketDir, database: 'postgres', silentMsMax: null }),
    owner: testOwner,
    installation: testInstallation,
    position: () => durable,
    async awaitChosen(lsn: Lsn) {
      while (durable.position.end < lsn)
        durable = { position: await postgres.position(), configuration: null };
      return true;
    },
    bytesPerSecondMax: () => null,
    ...changes,
  });
}

/** Two ends of one connection over a Unix socket. */
export function socketPair(path: string): Promise<readonly [Socket, Socket]> {
  return new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true });
    server.once('error', reject);
    server.listen(path, () => {
      const near = connect({ path, allowHalfOpen: true });
      near.once('error', reject);
      server.once('connection', (far) => {
        server.close();
        near.off('error', reject);
        resolve([near, far]);
      });
    });
  });
}

/** What the directory says of itself. */
export async function say(target: PlainPostgres, role: DirectoryRole): Promise<void> {
  await writeDirectoryState(target.directory, { role, position: positionNone, configuration: null });
}

export const ledRole: DirectoryRole = { kind: 'primary', leadership: ballotNone };

let pairs = 0;

/** Copies to `target`, which does not run. */
export async function copyTo(
  target: PlainPostgres,
  source: CopySource,
  changes: Partial<ReceiveCopyOptions> = {},
): Promise<CopiedDatabase> {
  const [near, far] = await socketPair(join(target.directory, '..', `pair-${(pairs += 1)}`));
  const served = source.serve(far);
  try {
    return await receiveCopy({
      channel: near,
      from: 'r1' as ReplicaId,
      directory: target.directory,
      owner: testOwner,
      installation: testInstallation,
      isOfUse: () => true,
      ...changes,
    });
  } finally {
    await served;
  }
}
