/**
 * Jute, ZooKeeper's encoding: big-endian integers, and strings, buffers and vectors behind their lengths. Pure: bytes in, bytes out.
 *
 * Knows nothing of what the fields mean (protocol.ts). Invariant: a reader never goes beyond its bytes; what does not fit is a JuteError.
 */

export class JuteError extends Error {
  override readonly name = 'JuteError';
}

export interface JuteWriter {
  int(value: number): void;
  long(value: bigint): void;
  bool(value: boolean): void;
  string(value: string): void;
  buffer(value: Uint8Array): void;
  /** What has been written, behind its length: one packet. */
  packet(): Buffer;
}

export function createJuteWriter(bytesExpected = 256): JuteWriter {
  // The first four bytes are for the length of the packet.
  let bytes = Buffer.allocUnsafe(4 + bytesExpected);
  let end = 4;
  const reserve = (more: number): number => {
    if (end + more > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes.length * 2, end + more));
      bytes.copy(larger, 0, 0, end);
      bytes = larger;
    }
    const at = end;
    end += more;
    return at;
  };
  // `reserve` may put another buffer in the place of `bytes`, so it comes first.
  const int = (value: number): void => {
    const at = reserve(4);
    bytes.writeInt32BE(value, at);
  };
  return {
    int,
    long(value) {
      const at = reserve(8);
      bytes.writeBigInt64BE(value, at);
    },
    bool(value) {
      const at = reserve(1);
      bytes.writeUInt8(value ? 1 : 0, at);
    },
    string(value) {
      const length = Buffer.byteLength(value, 'utf8');
      int(length);
      const at = reserve(length);
      bytes.write(value, at, 'utf8');
    },
    buffer(value) {
      int(value.length);
      const at = reserve(value.length);
      bytes.set(value, at);
    },
    packet() {
      bytes.writeInt32BE(end - 4, 0);
      return bytes.subarray(0, end);
    },
  };
}

export interface JuteReader {
  int(): number;
  long(): bigint;
  bool(): boolean;
  string(): string;
  /** A copy. A buffer that is null on the wire is empty. */
  buffer(): Uint8Array;
  strings(): string[];
  skip(bytes: number): void;
  /** Whether anything is left. */
  more(): boolean;
}

/** @throws JuteError from its methods */
export function createJuteReader(bytes: Buffer): JuteReader {
  let at = 0;
  const take = (count: number): number => {
    if (count < 0 || at + count > bytes.length) throw new JuteError(`a packet ends within a field, at ${at}`);
    const from = at;
    at += count;
    return from;
  };
  const int = (): number => bytes.readInt32BE(take(4));
  const length = (): number => Math.max(0, int());
  const string = (): string => {
    const count = length();
    const from = take(count);
    return bytes.toString('utf8', from, from + count);
  };
  return {
    int,
    long: () => bytes.readBigInt64BE(take(8)),
    bool: () => bytes.readUInt8(take(1)) !== 0,
    string,
    buffer() {
      const count = length();
      const from = take(count);
      return new Uint8Array(bytes.subarray(from, from + count));
    },
    strings() {
      const count = length();
      // Each takes four bytes at least: a wild count cannot make this loop long.
      if (count * 4 > bytes.length - at) throw new JuteError(`a list of ${count} does not fit its packet`);
      return Array.from({ length: count }, string);
    },
    skip: (count) => void take(count),
    more: () => at < bytes.length,
  };
}

/** Cuts a stream into packets. @throws JuteError if one is longer than `packetBytesMax` */
export function createPacketSplitter(packetBytesMax: number): (chunk: Buffer) => Buffer[] {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let needed = 4;
  return (chunk) => {
    waiting.push(chunk);
    waitingBytes += chunk.length;
    if (waitingBytes < needed) return [];
    const bytes = waiting.length === 1 ? chunk : Buffer.concat(waiting);
    const packets: Buffer[] = [];
    let at = 0;
    for (;;) {
      needed = 4;
      if (bytes.length - at < needed) break;
      const length = bytes.readInt32BE(at);
      if (length < 0 || length > packetBytesMax) throw new JuteError(`a packet claims ${length} bytes`);
      needed = 4 + length;
      if (bytes.length - at < needed) break;
      packets.push(bytes.subarray(at + 4, at + needed));
      at += needed;
    }
    waiting = [bytes.subarray(at)];
    waitingBytes = bytes.length - at;
    return packets;
  };
}
