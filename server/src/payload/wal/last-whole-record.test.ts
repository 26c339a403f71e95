/** Where the last whole record of chosen WAL ends, of which the end may be cut anywhere. */
import { expect, it } from 'vitest';
import { segmentBytes, type Lsn, type Timeline } from '../../wal/lsn.ts';
import { positionNone } from '../../wal/position.ts';
import { lastWholeRecord } from './last-whole-record.ts';
import { encodeRecord } from '../../wal/record/testing/encode-record.ts';
import { recordOf } from './testing/model-records.ts';
import { WalFiles } from './testing/wal-files.ts';

it('is the end where a record ends there, and else the end of the record before', async () => {
  const timeline = 1 as Timeline;
  const wal = new WalFiles();
  const facts = { redo: segmentBytes as Lsn, nextXid: 700n, running: [] };
  const write = (at: Lsn, previous: Lsn) => {
    const record = recordOf({ kind: 'checkpoint', facts, isShutdown: true });
    const encoded = encodeRecord({ at, previous, timeline, system: 7n }, record);
    wal.write(timeline, at, encoded.bytes);
    return encoded;
  };
  const { start, end: at } = write(facts.redo, 0 as Lsn);
  const { end } = write(at, start);

  const read = (from: Lsn, limit: Lsn, bytesMax: number): Buffer[] | null =>
    from >= limit ? null : [wal.read(from, timeline, Math.min(bytesMax, limit - from))];
  const wholeAt = (position: number) => lastWholeRecord({ read }, { ...positionNone, end: position as Lsn });
  expect([await wholeAt(at), await wholeAt(end)]).toEqual([at, end]);
  // It may be whole without its padding.
  for (let cut = at + 1; cut <= end - 8; cut++) expect([cut, await wholeAt(cut)]).toEqual([cut, at]);
});
