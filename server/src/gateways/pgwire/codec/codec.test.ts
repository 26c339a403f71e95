import { describe, expect, it } from 'vitest';
import * as back from './backend-messages.ts';
import { createFrameSplitter, type FrameSplitterOptions } from './frame-splitter.ts';
import * as send from './frontend-messages.ts';
import { ProtocolViolation } from './protocol-violation.ts';
import {
  cancelForBackend,
  cancelForLeader,
  readFirstPacket,
  type StartupMessage,
  startupBytesMax,
  startupForBackend,
  startupForTunnel,
} from './startup.ts';

const frame = (type: string, payload: string): Buffer => {
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(payload.length + 4, 1);
  return Buffer.concat([head, Buffer.from(payload, 'latin1')]);
};

const collect = (chunks: readonly Buffer[], options: Partial<FrameSplitterOptions> = {}) => {
  const seen: string[] = [];
  const splitter = createFrameSplitter({
    wholeBytesMax: 1000,
    streamedBytesMax: 10_000,
    pieceBytesMin: 50,
    streams: (type) => type === 0x64,
    ...options,
  });
  for (const chunk of chunks) {
    splitter.push(chunk, {
      frame: (type, bytes) => seen.push(`${String.fromCharCode(type)}:${bytes.toString('latin1', 5)}`),
      piece: (_type, bytes, { first, last }) =>
        seen.push(`${first ? '<' : ''}${bytes.length}${last ? '>' : ''}`),
    });
  }
  return { seen, atBoundary: splitter.atBoundary };
};
const eachByte = (bytes: Buffer): Buffer[] => [...bytes].map((byte) => Buffer.from([byte]));

describe('frame splitter', () => {
  const stream = Buffer.concat([
    frame('Q', 'one'),
    frame('S', ''),
    frame('P', 'x'.repeat(300)),
    frame('X', ''),
  ]);
  const expected = ['Q:one', 'S:', `P:${'x'.repeat(300)}`, 'X:'];

  it('gives the same frames whatever the chunks', () => {
    expect(collect([stream]).seen).toEqual(expected);
    expect(collect(eachByte(stream)).seen).toEqual(expected);
    for (let cut = 1; cut < stream.length; cut += 1) {
      expect(collect([stream.subarray(0, cut), stream.subarray(cut)]).seen).toEqual(expected);
    }
  });

  it('knows when it is between frames', () => {
    expect(collect([stream]).atBoundary).toBe(true);
    expect(collect([stream.subarray(0, 3)]).atBoundary).toBe(false);
    expect(collect([stream.subarray(0, 6)]).atBoundary).toBe(false);
  });

  it('takes a frame of exactly the limit and not one byte more', () => {
    expect(collect([frame('Q', 'x'.repeat(995))]).seen).toHaveLength(1);
    expect(() => collect([frame('Q', 'x'.repeat(996))])).toThrow(ProtocolViolation);
    expect(() => collect(eachByte(frame('Q', 'x'.repeat(996)).subarray(0, 5)))).toThrow(
      /above the limit of 1000/,
    );
  });

  it.each([0, 3, -1, -2_147_483_648])('refuses a length of %i', (length) => {
    const bytes = Buffer.alloc(5, 'Q');
    bytes.writeInt32BE(length, 1);
    expect(() => collect([bytes])).toThrow(ProtocolViolation);
    expect(() => collect(eachByte(bytes))).toThrow(ProtocolViolation);
  });

  it('hands a large frame of a streamed type on in pieces that add up', () => {
    const large = frame('d', 'x'.repeat(2000));
    const { seen, atBoundary } = collect([
      large.subarray(0, 100),
      large.subarray(100, 1500),
      large.subarray(1500),
      frame('c', ''),
    ]);
    expect(seen).toEqual(['<100', '1400', '505>', 'c:']);
    expect(atBoundary).toBe(true);
    expect(collect([large.subarray(0, 100)]).atBoundary).toBe(false);
  });

  it('a streamed type that lies within a chunk, or is small, stays whole', () => {
    const small = frame('d', 'abc');
    expect(collect([small.subarray(0, 6), small.subarray(6)]).seen).toEqual(['d:abc']);
    expect(collect([frame('d', 'x'.repeat(100))]).seen).toEqual([`d:${'x'.repeat(100)}`]);
  });

  it('a streamed type has its own limit', () => {
    expect(() => collect([frame('d', 'x'.repeat(9_996))])).toThrow(ProtocolViolation);
    expect(() => collect([frame('d', 'x'.repeat(9_995))])).not.toThrow();
  });
});

describe('frontend messages', () => {
  it('reads what it writes', () => {
    const parse = send.parse('name', 'SELECT 1');
    expect(send.readParse(parse)).toMatchObject({ statement: 'name', sql: Buffer.from('SELECT 1') });
    expect(send.readBind(send.bind({ portal: 'p', statement: 's', parameters: ['a', 'é'] }))).toEqual({
      portal: 'p',
      statement: 's',
    });
    expect(send.executePortal(send.execute('p'))).toBe('p');
    expect(send.readTarget(send.closeStatement('s'))).toEqual({ kind: 'statement', name: 's' });
    expect(send.readTarget(send.describePortal('p'))).toEqual({ kind: 'portal', name: 'p' });
    expect(send.querySql(send.query(Buffer.from('SELECT 1'))).toString()).toBe('SELECT 1');
  });

  it('refuses messages that are cut short or go on too long', () => {
    expect(() => send.querySql(frame('Q', 'SELECT 1'))).toThrow(ProtocolViolation);
    expect(() => send.querySql(frame('Q', 'SELECT 1\0COMMIT\0'))).toThrow(ProtocolViolation);
    expect(() => send.readParse(frame('P', 'name\0SELECT'))).toThrow(ProtocolViolation);
    expect(() => send.readParse(frame('P', 'name\0SELECT\0'))).toThrow(ProtocolViolation);
    expect(() => send.readBind(frame('B', 'portal'))).toThrow(ProtocolViolation);
    expect(() => send.executePortal(frame('E', 'p\0\0\0\0'))).toThrow(ProtocolViolation);
    expect(() => send.readTarget(frame('D', 'Xname\0'))).toThrow(ProtocolViolation);
  });
});

describe('backend messages', () => {
  it('reads back the fields of an error', () => {
    const bytes = back.errorResponse('FATAL', { sqlState: '57P01', message: 'gone', hint: 'reconnect' });
    expect(Object.fromEntries(back.readErrorFields(bytes))).toEqual({
      S: 'FATAL',
      V: 'FATAL',
      C: '57P01',
      M: 'gone',
      H: 'reconnect',
    });
    expect(bytes.readInt32BE(1)).toBe(bytes.length - 1);
  });

  it('passes bytes of any encoding through an error', () => {
    const bytes = frame('E', 'C42601\0Mna\u00efve\0\0');
    expect(back.errorFromFields(back.readErrorFields(Buffer.from(bytes)))).toEqual(bytes);
  });

  it('knows NULL and missing columns from values', () => {
    expect(back.firstColumn(frame('D', '\0\u0001\0\0\0\u0002ab'))?.toString()).toBe('ab');
    const none = Buffer.concat([frame('D', '\0\u0001'), Buffer.from([255, 255, 255, 255])]);
    expect(back.firstColumn(none)).toBeNull();
    expect(back.firstColumn(frame('D', '\0\0'))).toBeNull();
  });
});

describe('first packet', () => {
  const packet = (code: number, rest: Buffer): Buffer => {
    const head = Buffer.alloc(8);
    head.writeInt32BE(rest.length + 8, 0);
    head.writeInt32BE(code, 4);
    return Buffer.concat([head, rest]);
  };
  const startup = packet(3 << 16, Buffer.from('user\0alice\0database\0shop\0\0'));
  const read = (bytes: Buffer): StartupMessage => readFirstPacket(bytes)?.packet as StartupMessage;

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

  it('tells encryption requests and cancels apart', () => {
    expect(readFirstPacket(packet(80_877_103, Buffer.alloc(0)))?.packet.kind).toBe('ssl');
    expect(readFirstPacket(packet(80_877_104, Buffer.alloc(0)))?.packet.kind).toBe('gss');
    const key = Buffer.from('12345678');
    expect(readFirstPacket(cancelForBackend(key))?.packet).toEqual({ kind: 'cancel', key, forwarded: false });
    expect(readFirstPacket(cancelForLeader(key))?.packet).toEqual({ kind: 'cancel', key, forwarded: true });
  });

  it('refuses other versions, bad lengths and bad layouts', () => {
    expect(() => readFirstPacket(packet(2 << 16, Buffer.from('\0')))).toThrow(
      /unsupported frontend protocol 2\.0/,
    );
    for (const length of [0, 7, startupBytesMax + 1, -1]) {
      const bytes = Buffer.alloc(8);
      bytes.writeInt32BE(length, 0);
      expect(() => readFirstPacket(bytes)).toThrow(ProtocolViolation);
    }
    for (const rest of ['', 'user\0alice\0', 'user\0alice', 'user\0\0\0\0', 'user\0alice\0\0x\0']) {
      expect(() => readFirstPacket(packet(3 << 16, Buffer.from(rest)))).toThrow(ProtocolViolation);
    }
  });

  it('forced parameters replace what the client asked for, however it is spelt', () => {
    const asked = read(packet(3 << 16, Buffer.from('user\0a\0Search_Path\0evil\0\0')));
    const sent = read(startupForBackend(asked, { search_path: 'good' }));
    expect(sent.parameters).toEqual([
      ['user', 'a'],
      ['search_path', 'good'],
    ]);
  });

  it('a tunnelled connection is marked, and the mark does not reach PostgreSQL', () => {
    const tunnelled = read(startupForTunnel(read(startup)));
    expect(tunnelled.tunnelled).toBe(true);
    expect(read(startupForBackend(tunnelled, {}))).toEqual(read(startup));
  });
});
