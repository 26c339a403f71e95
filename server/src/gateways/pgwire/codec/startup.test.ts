import { describe, expect, it } from 'vitest';
import { ProtocolViolation } from './protocol-violation.ts';
import {
  cancelForBackend,
  cancelForLeader,
  databaseOf,
  readFirstPacket,
  type StartupMessage,
  startupBytesMax,
  startupForBackend,
  startupForTunnel,
} from './startup.ts';

function packet(code: number, rest: string | Buffer = ''): Buffer {
  const body = typeof rest === 'string' ? Buffer.from(rest) : rest;
  const head = Buffer.alloc(8);
  head.writeInt32BE(body.length + 8, 0);
  head.writeInt32BE(code, 4);
  return Buffer.concat([head, body]);
}

function read(bytes: Buffer): StartupMessage {
  const found = readFirstPacket(bytes)?.packet;
  if (found?.kind !== 'startup') throw new Error('it is no startup packet');
  return found;
}

const startup = packet(3 << 16, 'user\0alice\0database\0shop\0\0');

describe('the first packet', () => {
  it('needs all of its bytes', () => {
    for (let length = 0; length < startup.length; length += 1) {
      expect(readFirstPacket(startup.subarray(0, length))).toBeNull();
    }
    expect(readFirstPacket(Buffer.concat([startup, Buffer.from('more')]))?.length).toBe(startup.length);
    expect(read(startup).parameters).toEqual([
      ['user', 'alice'],
      ['database', 'shop'],
    ]);
  });

  it('tells encryption requests and cancels apart, with the short keys and the long ones of PostgreSQL 18', () => {
    expect(readFirstPacket(packet(80_877_103))?.packet.kind).toBe('ssl');
    expect(readFirstPacket(packet(80_877_104))?.packet.kind).toBe('gss');
    for (const key of [Buffer.from('12345678'), Buffer.alloc(260, 7)]) {
      expect(readFirstPacket(cancelForBackend(key))?.packet).toEqual({
        kind: 'cancel',
        key,
        forwarded: false,
      });
      expect(readFirstPacket(cancelForLeader(key))?.packet).toEqual({ kind: 'cancel', key, forwarded: true });
    }
    expect(() => readFirstPacket(cancelForBackend(Buffer.alloc(7)))).toThrow(ProtocolViolation);
    expect(() => readFirstPacket(cancelForBackend(Buffer.alloc(261)))).toThrow(ProtocolViolation);
  });

  it('refuses other versions, bad lengths and bad layouts', () => {
    expect(() => readFirstPacket(packet(2 << 16, '\0'))).toThrow(/unsupported frontend protocol 2\.0/);
    for (const length of [0, 7, startupBytesMax + 1, -1]) {
      const bytes = Buffer.alloc(8);
      bytes.writeInt32BE(length, 0);
      expect(() => readFirstPacket(bytes)).toThrow(ProtocolViolation);
    }
    for (const rest of ['', 'user\0alice\0', 'user\0alice', 'user\0\0\0\0', 'user\0alice\0\0x\0']) {
      expect(() => readFirstPacket(packet(3 << 16, rest))).toThrow(ProtocolViolation);
    }
  });

  it('reaches PostgreSQL byte for byte, but for the mark of a tunnel', () => {
    const odd = packet(
      (3 << 16) | 2,
      Buffer.from('user\0\xe4\0options\0-c a=b\0_pq_.other\0x\0\0', 'latin1'),
    );
    expect(startupForBackend(read(odd))).toEqual(odd);
    const tunnelled = read(startupForTunnel(read(odd)));
    expect([tunnelled.tunnelled, tunnelled.takesDoubts]).toEqual([true, true]);
    expect(startupForBackend(tunnelled)).toEqual(odd);
    expect([read(odd).tunnelled, read(odd).takesDoubts]).toEqual([false, false]);
  });

  it('names the database of the user if it names none, in UTF-8', () => {
    expect(databaseOf(read(startup))).toBe('shop');
    expect(databaseOf(read(packet(3 << 16, 'user\0größe\0\0')))).toBe('größe');
  });
});
