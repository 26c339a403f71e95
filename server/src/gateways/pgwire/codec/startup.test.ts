import { describe, expect, it } from 'vitest';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';
import {
  cancelForBackend,
  cancelForLeader,
  databaseOf,
  plainStartup,
  readFirstPacket,
  readTunnelChallenge,
  roleOf,
  type StartupMessage,
  startupBytesMax,
  startupForBackend,
  startupForTunnel,
  tunnelChallenge,
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

  it('has 250 parameters at most, and of more nothing is made', () => {
    const having = (count: number): Buffer => packet(3 << 16, `${'a\0b\0'.repeat(count)}\0`);
    expect(read(having(250)).parameters).toHaveLength(250);
    expect(() => readFirstPacket(having(251))).toThrow('more than 250 parameters');
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
    const nonce = Buffer.alloc(16, 7);
    const tunnelled = read(startupForTunnel(read(odd), nonce));
    expect(tunnelled.tunnelNonce).toEqual(nonce);
    expect(startupForBackend(tunnelled)).toEqual(odd);
    expect(read(odd).tunnelNonce).toBeNull();
  });

  it.each([
    'post_auth_delay\x009',
    'Ignore_System_Indexes\0on',
    'options\0-c work_mem=1MB -c post_auth_delay=9',
    'options\0--post-auth-delay=9',
    'options\0-c post\\_auth_delay=9',
    'options\0-W 9',
    'options\0-fsW9',
    'options\0-P',
  ])('has no session sleep behind its log-in, or do without indexes of catalogs: %j', (asked) => {
    const { parameters } = read(packet(3 << 16, `user\0a\0${asked}\0\0`));
    expect(parameters.slice(-2)).toEqual([
      ['post_auth_delay', '0'],
      ['ignore_system_indexes', 'off'],
    ]);
    expect(parameters.filter(([name]) => name === 'post_auth_delay')).toHaveLength(1);
  });

  it.each(['3', '4.', '4.short', `4.${'x'.repeat(23)}`, `5.${'x'.repeat(22)}`])(
    'is refused with the mark of a tunnel that is not understood: %s',
    (mark) => {
      const marked = packet(3 << 16, `user\0a\0_pq_.barista_tunnelled\0${mark}\0\0`);
      expect(() => readFirstPacket(marked)).toThrow(/incompatible versions/);
    },
  );

  it('of a tunnel is answered with a challenge, which is told from other words about authentication', () => {
    const challenge = Buffer.from('a challenge');
    expect(readTunnelChallenge(tunnelChallenge(challenge).subarray(5))).toEqual(challenge);
    expect(readTunnelChallenge(Buffer.alloc(4))).toBeNull();
    expect(readTunnelChallenge(Buffer.alloc(3))).toBeNull();
  });

  it('is plain when PostgreSQL cannot take another role or database from it than the gateway does', () => {
    const long = 'x'.repeat(80);
    const twice = read(packet(3 << 16, `user\0a\0database\0\0user\0${long}\0application_name\0psql\0\0`));
    expect(plainStartup(twice).parameters).toEqual([
      ['user', long.slice(0, 63)],
      ['database', long.slice(0, 63)],
      ['application_name', 'psql'],
    ]);
    const umlauts = plainStartup(read(packet(3 << 16, `user\0x${'ä'.repeat(40)}\0\0`)));
    expect(roleOf(umlauts)).toBe(`x${'ä'.repeat(31)}`);
    expect(plainStartup(read(packet(3 << 16, 'database\0shop\0\0'))).parameters).toEqual([]);
  });

  it('names the database of the user if it names none, in UTF-8', () => {
    expect(databaseOf(read(startup))).toBe('shop');
    expect(databaseOf(read(packet(3 << 16, 'user\0größe\0\0')))).toBe('größe');
  });
});
