import { expect, it } from 'vitest';
import { segmentBytes, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import { WalFiles } from './wal-files.ts';

it('what was synced of a timeline is not lost when it is written once more behind another one', () => {
  const [first, second] = [1 as Timeline, 2 as Timeline];
  const start = segmentBytes as Lsn;
  const wal = new WalFiles();
  wal.write(first, start, new Uint8Array(100));
  wal.syncAll();
  wal.branch(first, second, (start + 100) as Lsn);
  wal.removeAbove(first);
  wal.write(first, start, new Uint8Array(40));
  expect(wal.unsynced).toMatchObject({ from: start + 100, to: start + 100 });
  wal.write(first, start, new Uint8Array(130));
  expect(wal.unsynced).toMatchObject({ from: start + 100, to: start + 130 });
});
