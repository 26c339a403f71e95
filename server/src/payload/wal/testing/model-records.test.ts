/** The model's WAL, held against the product's readers of WAL. */
import { expect, it } from 'vitest';
import { Random } from '../../../ports/testing/random.ts';
import { segmentBytes, walPageBytes, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import { readRecords } from '../../../wal/record/record-reader.ts';
import { encodeRecord, type WalPlace } from '../../../wal/record/testing/encode-record.ts';
import { changeOf, recordOf, type ModelChange } from './model-records.ts';

const xid = 2n ** 33n + 12_345n;
const facts = { redo: 0x1000_0040 as Lsn, nextXid: xid + 7n, running: [xid, xid + 3n] };
const changes: readonly ModelChange[] = [
  { kind: 'row', xid, key: 'a', value: 'x'.repeat(300) },
  { kind: 'row', xid: 2n ** 33n - 1n, key: 'ä', value: '' },
  { kind: 'drop', xid, key: 'ä' },
  { kind: 'vacuum', horizon: xid - 3n, outcomesFrom: 7n, commitsFrom: 0x1_0000_0040 as Lsn },
  { kind: 'commit', xid },
  { kind: 'abort', xid },
  { kind: 'prepare', xid, name: 'p' },
  { kind: 'commitPrepared', xid, name: 'pq' },
  { kind: 'abortPrepared', xid, name: 'a name that is longer' },
  { kind: 'checkpoint', facts, isShutdown: true },
  { kind: 'checkpoint', facts: { ...facts, running: [] }, isShutdown: false },
  { kind: 'filler', bytes: 3 * walPageBytes },
  { kind: 'filler', bytes: 1 },
  { kind: 'endOfRecovery' },
];

function nextPlace(place: WalPlace, { start, end }: ReturnType<typeof encodeRecord>): WalPlace {
  return { ...place, at: end, previous: start };
}

it('what the model writes is WAL, and says what it was to say, wherever a record falls', () => {
  const random = new Random(5);
  let place: WalPlace = {
    at: (segmentBytes - 6 * walPageBytes) as Lsn,
    previous: 0 as Lsn,
    timeline: 3 as Timeline,
    system: 7n,
  };
  const begin = place.at;
  const written: ModelChange[] = [];
  const bytes: Buffer[] = [];
  while (place.at < begin + 60 * walPageBytes) {
    const change = random.pick(changes);
    const encoded = encodeRecord(place, recordOf(change));
    place = nextPlace(place, encoded);
    written.push(change);
    bytes.push(encoded.bytes);
  }
  const records = readRecords(begin, Buffer.concat(bytes), { checksums: true });
  expect(records.map((record) => changeOf(record, xid - 5n))).toEqual(written);
  expect(records.at(-1)!.end).toBe(place.at);
  const kinds = new Set(written.map(({ kind }) => kind));
  expect(kinds.size).toBe(new Set(changes.map(({ kind }) => kind)).size);
});

it('a record that a crash left unfinished is given up at the next page', () => {
  const timeline = 1 as Timeline;
  const place: WalPlace = { at: walPageBytes as Lsn, previous: 0 as Lsn, timeline, system: 7n };
  const first = encodeRecord(place, recordOf({ kind: 'commit', xid }));
  const torn = encodeRecord(
    { ...place, at: first.end, previous: first.start },
    recordOf({ kind: 'filler', bytes: 3 * walPageBytes }),
  );
  const goesOn = 3 * walPageBytes;
  const last = encodeRecord(
    { ...place, at: goesOn as Lsn, previous: first.start },
    recordOf({ kind: 'givenUp' }),
  );
  const bytes = Buffer.concat([first.bytes, torn.bytes.subarray(0, goesOn - first.end), last.bytes]);
  const kinds = readRecords(place.at, bytes, { checksums: true }).map((record) => changeOf(record, xid).kind);
  expect(kinds).toEqual(['commit', 'givenUp']);
});
