/** The archive of WAL in memory, held against the contract of archives. */
import { describeWalArchive } from '../../../ports/testing/wal-archive-contract.ts';
import { Random } from '../../../ports/testing/random.ts';
import { systemClock } from '../../../adapters/system-clock.ts';
import { ModelArchiveDisk, openModelArchive } from './model-archive.ts';

describeWalArchive('memory', () => {
  const disk = new ModelArchiveDisk();
  const random = new Random(1);
  return Promise.resolve({
    open: async (source) => openModelArchive({ ...source, disk, timers: systemClock, random }),
    contents: () => Promise.resolve(disk.contents()),
    dispose: () => Promise.resolve(),
  });
});
