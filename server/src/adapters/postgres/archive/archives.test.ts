/** The archive of WAL in files, held against the contract of archives. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWalArchive } from '../../../ports/testing/wal-archive-contract.ts';
import { type Lsn, segmentBytes, segmentStart } from '../../../wal/lsn.ts';
import { listSegments, readArchive } from './archive-contents.ts';
import { openWalArchive } from './wal-archive.ts';

/** What PostgreSQL would read: of each segment the newest timeline's file. */
async function read(directory: string, from: Lsn, to: Lsn): Promise<Buffer> {
  const newest = new Map((await listSegments(directory)).map(({ start, name }) => [start, name]));
  const parts: Buffer[] = [];
  for (let start = segmentStart(from); start < to; start = (start + segmentBytes) as Lsn)
    parts.push(await readFile(join(directory, newest.get(start)!)));
  return Buffer.concat(parts).subarray(0, to - from);
}

describeWalArchive('files', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'barista-archives-'));
  return {
    open: (source) =>
      openWalArchive({ ...source, directory, bytesMax: 64 * segmentBytes, flushMs: 1_000_000 }),
    async contents() {
      const { stretches } = await readArchive(directory);
      return Promise.all(
        stretches.map(async ({ from, to }) => ({ from, bytes: await read(directory, from, to) })),
      );
    },
    dispose: () => rm(directory, { recursive: true, force: true }),
  };
});
