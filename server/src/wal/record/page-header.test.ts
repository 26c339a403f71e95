import { describe, expect, it } from 'vitest';
import { segmentBytes, walPageBytes, type Lsn } from '../lsn.ts';
import { PageHeaderReader } from './page-header-reader.ts';
import { readPageHeader } from './page-header.ts';
import { writeWal } from './testing/synthetic-wal.ts';

const page = (2 * segmentBytes + walPageBytes) as Lsn;
const firstPage = (2 * segmentBytes) as Lsn;

function headerOf(page: Lsn, change: (view: DataView) => void = () => undefined): Uint8Array {
  const bytes = writeWal(page, [{ kind: 'record', mainBytes: 1 }]).bytes.slice(0, 40);
  change(new DataView(bytes.buffer));
  return bytes;
}

describe('the header of a page', () => {
  it('tells version, timeline and how much of a record goes on', () => {
    const bytes = headerOf(page, (view) => {
      view.setUint16(0, 0xd113, true);
      view.setUint16(2, 1, true);
      view.setUint32(4, 9, true);
      view.setUint32(16, 77, true);
    });
    expect(readPageHeader(bytes, page)).toEqual({ version: 16, timeline: 9, continues: 77, givesUp: false });
  });

  it.each<[string, Lsn, (view: DataView) => void, string]>([
    ['has an unknown magic number', page, (view) => view.setUint16(0, 0xd10d, true), 'd10d, of no version'],
    ['has unknown flags', page, (view) => view.setUint16(2, 0x10, true), 'unknown flags'],
    [
      'is of an earlier use of the file',
      page,
      (view) => view.setUint32(8, page - segmentBytes, true),
      'at 0/1002000',
    ],
    ['begins a segment where none begins', page, (view) => view.setUint16(2, 2, true), 'not of 16 MB'],
    [
      'begins no segment where one begins',
      firstPage,
      (view) => view.setUint16(2, 0, true),
      'no segment begins',
    ],
    [
      'is of segments of another size',
      firstPage,
      (view) => view.setUint32(32, 1 << 26, true),
      'of 67108864 bytes',
    ],
    ['is of pages of another size', firstPage, (view) => view.setUint32(36, 16_384, true), 'pages of 16384'],
    ['goes on with nothing', page, (view) => view.setUint16(2, 1, true), '0 bytes go on'],
    ['goes on, and does not say so', page, (view) => view.setUint32(16, 5, true), '5 bytes go on'],
  ])('that %s is none', (_, at, change, text) => {
    expect(readPageHeader(headerOf(at), at)).toMatchObject({ version: 18 });
    const fault = readPageHeader(headerOf(at, change), at);
    expect(fault).toMatchObject({ code: 'pageHeader', at });
    expect('text' in fault ? fault.text : '').toContain(text);
  });

  it('of zeros is told from one that is wrong', () => {
    expect(readPageHeader(new Uint8Array(40), page)).toMatchObject({ code: 'zeros' });
  });

  it('is never of an older timeline than the page before', () => {
    const reader = new PageHeaderReader();
    const read = (page: Lsn, timeline: number): unknown => {
      const bytes = headerOf(page, (view) => view.setUint32(4, timeline, true));
      expect(reader.take(page, bytes, 0)).toBe(24);
      return reader.read(page);
    };
    expect(read(page, 3)).toMatchObject({ timeline: 3 });
    expect(read((page + walPageBytes) as Lsn, 4)).toMatchObject({ timeline: 4 });
    expect(read((page + 2 * walPageBytes) as Lsn, 3)).toMatchObject({ code: 'pageHeader' });
  });

  it('is never of another version than the page before', () => {
    const reader = new PageHeaderReader();
    const read = (page: Lsn, magic: number): unknown => {
      const bytes = headerOf(page, (view) => view.setUint16(0, magic, true));
      expect(reader.take(page, bytes, 0)).toBe(24);
      return reader.read(page);
    };
    expect(read(page, 0xd116)).toMatchObject({ version: 17 });
    expect(read((page + walPageBytes) as Lsn, 0xd118)).toMatchObject({ code: 'pageHeader' });
    expect(read((page + walPageBytes) as Lsn, 0xd116)).toMatchObject({ version: 17 });
  });
});
