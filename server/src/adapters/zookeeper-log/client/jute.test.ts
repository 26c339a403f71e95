import { describe, expect, it } from 'vitest';
import { JuteError, createJuteReader, createJuteWriter, createPacketSplitter } from './jute.ts';

function packetOf(fill: number, bytes: number): Buffer {
  const writer = createJuteWriter(1);
  writer.buffer(new Uint8Array(bytes).fill(fill));
  return writer.packet();
}

describe('jute', () => {
  it('writes big-endian values, and strings and buffers behind their lengths', () => {
    const writer = createJuteWriter(2);
    writer.int(-2);
    writer.long(0x0102030405060708n);
    writer.bool(true);
    writer.string('é/x');
    writer.buffer(new Uint8Array([9, 8]));
    const hex = 'fffffffe 0102030405060708 01 00000004 c3a92f78 00000002 0908';
    expect(writer.packet().toString('hex')).toBe(`0000001b${hex.replaceAll(' ', '')}`);
  });

  it('reads what was written', () => {
    const writer = createJuteWriter();
    writer.int(7);
    writer.long(-1n);
    writer.bool(false);
    writer.string('ü');
    writer.int(2);
    writer.string('a');
    writer.string('');
    const reader = createJuteReader(writer.packet().subarray(4));
    expect([reader.int(), reader.long(), reader.bool(), reader.string(), reader.strings()]).toEqual([
      7,
      -1n,
      false,
      'ü',
      ['a', ''],
    ]);
    expect(reader.more()).toBe(false);
  });

  it('a null string or buffer reads as empty', () => {
    const reader = createJuteReader(Buffer.from('ffffffffffffffff', 'hex'));
    expect(reader.string()).toBe('');
    expect([...reader.buffer()]).toEqual([]);
  });

  it('never reads beyond its bytes, wherever they are cut, and is not led astray by wild lengths', () => {
    const writer = createJuteWriter();
    writer.string('abcdef');
    const bytes = writer.packet().subarray(4);
    for (let cut = 0; cut < bytes.length; cut++) {
      expect(() => createJuteReader(bytes.subarray(0, cut)).string()).toThrow(JuteError);
    }
    expect(() => createJuteReader(Buffer.from('7fffffff61', 'hex')).buffer()).toThrow(JuteError);
    expect(() => createJuteReader(Buffer.from('7fffffff61', 'hex')).strings()).toThrow(JuteError);
  });
});

describe('packets', () => {
  const stream = Buffer.concat([packetOf(1, 5), packetOf(2, 0), packetOf(3, 300)]);

  it.each([1, 2, 3, 7, 100, 1000])('come out whole, in chunks of %i bytes', (chunkBytes) => {
    const split = createPacketSplitter(1000);
    const packets: Buffer[] = [];
    for (let at = 0; at < stream.length; at += chunkBytes) {
      packets.push(...split(Buffer.from(stream.subarray(at, at + chunkBytes))));
    }
    expect(packets.map((packet) => [packet.length, packet.at(-1)])).toEqual([
      [9, 1],
      [4, 0],
      [304, 3],
    ]);
  });

  it('that are longer than allowed, or of negative length, are refused', () => {
    expect(() => createPacketSplitter(303)(stream)).toThrow(JuteError);
    expect(createPacketSplitter(304)(stream)).toHaveLength(3);
    expect(() => createPacketSplitter(304)(Buffer.from('ffffffff', 'hex'))).toThrow(JuteError);
  });
});
