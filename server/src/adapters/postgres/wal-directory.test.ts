import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { segmentBytes, segmentName, type Lsn, type Timeline } from '../../wal/lsn.ts';
import { writeWal } from '../../wal/record/testing/synthetic-wal.ts';
import { positionNone, type WalPosition } from '../../wal/position.ts';
import { endOfWal, missingWal, readWalFile, settlePromotion } from './wal-directory.ts';

const start = (3 * segmentBytes) as Lsn;
const [one, two, three] = [1, 2, 3] as Timeline[] as [Timeline, Timeline, Timeline];

let data = '';
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'barista-wal-'));
  mkdirSync(join(data, 'pg_wal'));
  mkdirSync(join(data, 'global'));
});
afterEach(() => rmSync(data, { recursive: true }));

/** A whole segment file, as PostgreSQL makes them: `bytes` at the offset, zeros around. */
function writeSegment(timeline: Timeline, at: Lsn, bytes: Uint8Array): string {
  const path = join(data, 'pg_wal', segmentName(timeline, at));
  const file = openSync(path, 'w');
  ftruncateSync(file, segmentBytes);
  writeSync(file, bytes, 0, Math.min(bytes.length, segmentBytes - (at % segmentBytes)), at % segmentBytes);
  closeSync(file);
  return path;
}

function text(buffer: Buffer): string {
  return buffer.toString();
}

function later(lsn: Lsn, bytes: number): Lsn {
  return (lsn + bytes) as Lsn;
}

describe('reading WAL', () => {
  it('gives what is there, to the end of the segment at most', async () => {
    writeSegment(one, later(start, 1_000), Buffer.from('ristretto'));
    expect(text(await readWalFile(data, later(start, 1_000), one, 9))).toBe('ristretto');
    expect(text(await readWalFile(data, later(start, 1_004), one, 5))).toBe('retto');
    const last = later(start, segmentBytes - 10);
    expect(await readWalFile(data, last, one, 500)).toHaveLength(10);
  });

  it('gives no more than a file has, and nothing where there is none', async () => {
    const path = writeSegment(one, start, Buffer.from('ristretto'));
    truncateSync(path, 5);
    expect(text(await readWalFile(data, start, one, 100))).toBe('ristr');
    expect(await readWalFile(data, later(start, 5), one, 100)).toHaveLength(0);
    expect(await readWalFile(data, later(start, segmentBytes), one, 100)).toHaveLength(0);
  });

  it('gives nothing without pg_wal, and says so of what cannot be read', async () => {
    mkdirSync(join(data, 'pg_wal', segmentName(one, start)));
    await expect(readWalFile(data, start, one, 100)).rejects.toMatchObject({ code: 'EISDIR' });
    rmSync(join(data, 'pg_wal'), { recursive: true });
    expect(await readWalFile(data, start, one, 100)).toHaveLength(0);
  });

  it('takes the timeline’s own file first, then a newer one’s, never an older one’s', async () => {
    writeSegment(one, start, Buffer.from('one'));
    writeSegment(two, start, Buffer.from('two'));
    expect(text(await readWalFile(data, start, one, 3))).toBe('one');
    expect(text(await readWalFile(data, start, two, 3))).toBe('two');
    expect(await readWalFile(data, start, three, 3)).toHaveLength(0);
    rmSync(join(data, 'pg_wal', segmentName(one, start)));
    expect(text(await readWalFile(data, start, one, 3))).toBe('two');
  });

  it('does not take a file of another name for WAL', async () => {
    const name = segmentName(two, start);
    for (const other of [`${name}.partial`, `${name}.tmp`, '00000002.history'])
      writeFileSync(join(data, 'pg_wal', other), 'not WAL');
    expect(await readWalFile(data, start, one, 3)).toHaveLength(0);
  });
});

describe('the end of WAL', () => {
  const wal = writeWal(start, [
    { kind: 'record', mainBytes: 100 },
    { kind: 'record', mainBytes: 20_000 },
    { kind: 'record', mainBytes: 50 },
  ]);

  it('is that of the last whole record in the files', async () => {
    writeSegment(one, start, wal.bytes);
    expect(await endOfWal(data, one, wal.records[0]!.end)).toBe(wal.records[2]!.end);
    expect(await endOfWal(data, one, wal.records[2]!.end)).toBe(wal.records[2]!.end);
  });

  it('is before a record that a crash has cut off', async () => {
    writeSegment(one, start, wal.bytes.subarray(0, wal.records[1]!.lastByte - start - 100));
    expect(await endOfWal(data, one, wal.records[0]!.end)).toBe(wal.records[0]!.end);
  });

  it('is found from the last checkpoint on, if what was known to be valid lies below and is removed', async () => {
    writeSegment(one, start, wal.bytes);
    const known = (start - 100) as Lsn;
    const control = Buffer.alloc(8192);
    control.writeBigUInt64LE(BigInt(wal.records[0]!.end), 40);
    const write = (timeline: Timeline): void => {
      control.writeUInt32LE(timeline, 48);
      writeFileSync(join(data, 'global', 'pg_control'), control);
    };
    write(two);
    await expect(endOfWal(data, one, known)).rejects.toThrow('is not whole up to');
    write(one);
    expect(await endOfWal(data, one, known)).toBe(wal.records[2]!.end);
    expect(await endOfWal(data, one, wal.records[1]!.end)).toBe(wal.records[2]!.end);
  });

  it('is an error where less is there than is known to be', async () => {
    writeSegment(one, start, wal.bytes.subarray(0, wal.records[1]!.lastByte - start - 100));
    await expect(endOfWal(data, one, wal.records[1]!.end)).rejects.toThrow(
      /^the WAL of timeline 1 is not whole up to 0\/300/,
    );
    rmSync(join(data, 'pg_wal', segmentName(one, start)));
    await expect(endOfWal(data, one, wal.records[0]!.end)).rejects.toThrow(/there are not enough files/);
  });
});

describe('a promotion that was interrupted', () => {
  /** The timelines of the last checkpoint, and of what recovery must reach. */
  function writeControl(checkpoint: Timeline, toReach: Timeline): void {
    const control = Buffer.alloc(8192, 9);
    control.writeUInt32LE(checkpoint, 48);
    control.writeUInt32LE(toReach, 144);
    writeFileSync(join(data, 'global', 'pg_control'), control);
  }

  beforeEach(() => {
    for (const timeline of [one, two, three]) writeSegment(timeline, start, Buffer.from('WAL'));
    // PostgreSQL's own, and no numbers, though one begins like one.
    for (const name of folders) mkdirSync(join(data, 'pg_wal', name));
    for (const name of ['00000002.history', '00000003.history'])
      writeFileSync(join(data, 'pg_wal', name), '');
  });

  function files(): string[] {
    return readdirSync(join(data, 'pg_wal')).sort();
  }
  const folders = ['archive_status', 'summaries'];

  it.each([
    ['its checkpoint is on the new timeline', three, one],
    ['it must reach the new timeline', two, three],
  ])('is done when %s; nothing is removed', async (_what, checkpoint, toReach) => {
    writeControl(checkpoint, toReach);
    const before = files();
    expect(await settlePromotion(data, two, three)).toBe('done');
    expect(files()).toEqual(before);
  });

  it('has led elsewhere when PostgreSQL took another number', async () => {
    writeControl((3 + 1) as Timeline, one);
    const before = files();
    expect(await settlePromotion(data, two, three)).toBe('other');
    expect(files()).toEqual(before);
  });

  it('has not been when PostgreSQL knows nothing of it: what it had begun is gone', async () => {
    writeControl(two, two);
    expect(await settlePromotion(data, two, three)).toBe('none');
    const left = [segmentName(one, start), '00000002.history', segmentName(two, start), ...folders];
    expect(files()).toEqual(left.sort());
    expect(await settlePromotion(data, two, three)).toBe('none');
  });
});

describe('the WAL that a standby begins with', () => {
  function writeRedo(redo: Lsn): void {
    const control = Buffer.alloc(8_192);
    control.writeBigUInt64LE(BigInt(redo), 40);
    writeFileSync(join(data, 'global', 'pg_control'), control);
  }

  const at = (end: Lsn, timeline: Timeline, forks: WalPosition['forks'] = []): WalPosition => ({
    ...positionNone,
    timeline,
    end,
    forks,
  });

  it('is missing if a file between its checkpoint and its end is gone or too short, of whatever timeline', async () => {
    const fork = later(start, segmentBytes);
    const { bytes, records } = writeWal(start, [{ kind: 'record', mainBytes: segmentBytes }]);
    const [record] = records;
    writeRedo(record!.lsn);
    const first = writeSegment(one, start, bytes);
    const second = writeSegment(two, fork, bytes.subarray(segmentBytes));
    const forks = [{ timeline: two, at: fork }];
    const end = later(start, segmentBytes + 1_000);
    expect(await missingWal(data, at(end, two, forks))).toBeNull();
    expect(await missingWal(data, at(start, one))).toBeNull();
    truncateSync(second, 1_000);
    expect(await missingWal(data, at(end, two, forks))).toBeNull();
    truncateSync(second, 999);
    expect(await missingWal(data, at(end, two, forks))).toMatch(
      /pg_wal lacks WAL that is needed, at 0\/4000000/,
    );
    expect(await missingWal(data, at(fork, two, forks))).toBeNull();
    rmSync(first);
    expect(await missingWal(data, at(fork, two, forks))).toMatch(/at 0\/3000000/);
  });

  it('cannot be read where a page or a record is not what was written; what lies beyond the end does not count', async () => {
    const { bytes, records } = writeWal(start, [
      { kind: 'record', mainBytes: 20_000 },
      { kind: 'record', mainBytes: 3_000 },
      { kind: 'record', mainBytes: 3_000 },
    ]);
    writeRedo(records[0]!.lsn);
    const path = writeSegment(one, start, bytes);
    const { end } = records[1]!;
    expect(await missingWal(data, at(end, one))).toBeNull();
    // Within a record, and up to the last byte that is there.
    expect(await missingWal(data, at(later(end, -100), one))).toBeNull();
    const put = (offset: number, text: string): void => {
      const file = openSync(path, 'r+');
      writeSync(file, Buffer.from(text), 0, text.length, offset);
      closeSync(file);
    };
    put(records[2]!.lsn - start + 200, 'not what was written');
    expect(await missingWal(data, at(end, one))).toBeNull();
    put(records[0]!.lsn - start + 500, 'not what was written');
    expect(await missingWal(data, at(end, one))).toMatch(/pg_wal holds WAL that cannot be read, at 0\/30000/);
    writeSegment(one, start, bytes);
    // Its recovery begins behind that, and reads the header of the segment all the same.
    writeRedo(records[1]!.lsn);
    put(200, 'not what was written');
    expect(await missingWal(data, at(end, one))).toBeNull();
    put(0, 'not what was written');
    expect(await missingWal(data, at(end, one))).toMatch(/cannot be read, at 0\/3000000/);
  });
});
