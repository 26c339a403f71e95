import { describe, expect, it } from 'vitest';
import { readParts } from './block-references.ts';

const relation = [0x7f, 6, 0, 0, 5, 0, 0, 0, 0xeb, 4, 0, 0];
const file = { tablespace: 1663, database: 5, relation: 1259 };

/** A record of these parts' headers, and as many bytes of data. */
function parts(headers: readonly number[], dataBytes: number): ReturnType<typeof readParts> {
  const bytes = Uint8Array.from([
    ...Array.from({ length: 24 }, () => 0),
    ...headers,
    ...new Uint8Array(dataBytes),
  ]);
  return readParts(bytes, bytes.length);
}

describe('the parts of a record', () => {
  it('are blocks of one relation, and data of the record itself', () => {
    const first = [0, 0x20, 3, 0, ...relation, 7, 0, 0, 0];
    const second = [1, 0xa2, 4, 0, 8, 0, 0, 0];
    expect(parts([...first, ...second, 255, 6], 13)).toEqual({
      blocks: [
        { ...file, fork: 'main', block: 7, imageBytes: 0, dataBytes: 3 },
        { ...file, fork: 'vm', block: 8, imageBytes: 0, dataBytes: 4 },
      ],
      mainBytes: 6,
      topLevelXid: null,
      origin: 0,
    });
  });

  it.each([
    ['with a hole', 0x03, []],
    ['compressed, with a hole', 0x07, [0x10, 0]],
    ['compressed, without a hole', 0x06, []],
    ['whole', 0x02, []],
  ])('may be an image, %s', (_, flags, hole) => {
    const block = [0, 0x10, 0, 0, 9, 0, 40, 0, flags, ...hole, ...relation, 1, 0, 0, 0];
    expect(parts(block, 9)).toMatchObject({ blocks: [{ ...file, block: 1, imageBytes: 9, dataBytes: 0 }] });
  });

  it('tell the top-level transaction and the origin', () => {
    const headers = [253, 2, 1, 252, 0x40, 1, 0, 0, 254, 3, 0, 0, 0];
    expect(parts(headers, 3)).toEqual({ blocks: [], mainBytes: 3, topLevelXid: 320, origin: 258 });
  });

  it.each([
    ['is of an unknown kind', [200, 0, 0, 0], 4, 'unknown kind 200'],
    ['is of the same relation as none', [0, 0x80, 0, 0, 1, 0, 0, 0], 0, 'first block'],
    ['is of an unknown fork', [0, 0x04, 0, 0, ...relation, 1, 0, 0, 0], 0, 'unknown fork 4'],
    ['is longer than the record', [255, 9], 8, 'take 35 bytes, and it has 34'],
    ['is not all of the record', [255, 9], 10, 'take 35 bytes, and it has 36'],
  ])('cannot be one that %s', (_, headers, dataBytes, text) => {
    expect(parts(headers, dataBytes)).toContain(text);
  });
});
