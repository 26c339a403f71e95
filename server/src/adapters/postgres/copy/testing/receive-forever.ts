/** A process for tests to kill: receives a copy over the Unix socket given into the directory given. */
import { connect } from 'node:net';
import type { ReplicaId } from '../../../../multipaxos/types/names.ts';
import { receiveCopy } from '../receive-copy.ts';
import { testInstallation } from './copying.ts';
import { testOwner } from './plain-postgres.ts';

async function main(path: string, directory: string): Promise<void> {
  await receiveCopy({
    channel: connect({ path, allowHalfOpen: true }),
    from: 'r1' as ReplicaId,
    directory,
    owner: testOwner,
    installation: testInstallation,
    isOfUse: () => true,
    onProgress: ({ bytesReceived }) => process.stdout.write(`${bytesReceived}\n`),
  });
}

void main(process.argv[2] ?? '', process.argv[3] ?? '');
