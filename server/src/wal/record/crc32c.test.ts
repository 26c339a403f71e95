import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crcAdd, crcEnd, crcStart } from './crc32c.ts';

function crc(bytes: Uint8Array): number {
  return crcEnd(crcAdd(crcStart, bytes, 0, bytes.length));
}

describe('CRC-32C', () => {
  it('is what RFC 3720 gives for its examples', () => {
    expect(crc(new TextEncoder().encode('123456789'))).toBe(0xe3069283);
    expect(crc(new Uint8Array(32))).toBe(0x8a9136aa);
    expect(crc(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43);
    expect(crc(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd794e);
    expect(crc(new Uint8Array(0))).toBe(0);
  });

  it('is the same wherever the bytes are cut', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(100), (bytes, cut) => {
        const at = Math.min(cut, bytes.length);
        const first = crcAdd(crcStart, bytes, 0, at);
        expect(crcEnd(crcAdd(first, bytes, at, bytes.length))).toBe(crc(bytes));
      }),
    );
  });
});
