/**
 * Cuts a byte stream of the PostgreSQL protocol (after start-up) into frames: type byte, 32-bit length, payload.
 *
 * Pure: no sockets. A frame that lies within one chunk is handed on as a view of it, never copied. A frame that spans
 * chunks is joined once, unless its type may be streamed and it is large: then it is handed on in pieces.
 * Invariants: never holds more than `wholeBytesMax` of one frame; a length that is too small or too large throws before
 * anything of the frame is kept.
 */
import { ProtocolViolation } from './protocol-violation.ts';

export const headerBytes = 5;

export interface FrameSink {
  /** A whole frame with its header, perhaps a view of the chunk. */
  readonly frame: (type: number, frame: Buffer) => void;
  /** Part of a streamed frame, header included in the first. */
  readonly piece: (
    type: number,
    piece: Buffer,
    place: { readonly first: boolean; readonly last: boolean },
  ) => void;
}

export interface FrameSplitterOptions {
  /** Frames of any type may not be longer than this, header included. */
  readonly wholeBytesMax: number;
  /** Whether a frame may be handed on in pieces when it is above `pieceBytesMin` and does not lie within one chunk. */
  readonly streams: (type: number) => boolean;
  readonly pieceBytesMin: number;
  /** Bound on streamed frames, header included. */
  readonly streamedBytesMax: number;
}

export interface FrameSplitter {
  /** @throws ProtocolViolation when a length cannot be right; the splitter is of no use afterwards. */
  push(chunk: Buffer, sink: FrameSink): void;
  /** True between frames: a message of one's own may be put into the stream here. */
  readonly atBoundary: boolean;
}

export const createFrameSplitter = (options: FrameSplitterOptions): FrameSplitter => {
  const header = Buffer.alloc(headerBytes);
  let headerFilled = 0;
  let joined: Buffer | null = null;
  let joinedFilled = 0;
  let streaming: { readonly type: number; left: number } | null = null;

  const totalLength = (type: number, length: number): number => {
    const total = length + 1;
    if (length < 4) throw new ProtocolViolation(`message ${describeType(type)} has length ${length}`);
    const limit = options.streams(type) ? options.streamedBytesMax : options.wholeBytesMax;
    if (total > limit) {
      throw new ProtocolViolation(
        `message ${describeType(type)} of ${total} bytes is above the limit of ${limit}`,
      );
    }
    return total;
  };

  const streams = (type: number, total: number): boolean =>
    options.streams(type) && (total > options.pieceBytesMin || total > options.wholeBytesMax);

  const pushStreamed = (chunk: Buffer, from: number, sink: FrameSink): number => {
    if (streaming === null) return from;
    const take = Math.min(streaming.left, chunk.length - from);
    if (take === 0) return from;
    streaming.left -= take;
    const { type, left } = streaming;
    if (left === 0) streaming = null;
    sink.piece(type, chunk.subarray(from, from + take), { first: false, last: left === 0 });
    return from + take;
  };

  const pushJoined = (chunk: Buffer, from: number, sink: FrameSink): number => {
    if (joined === null) return from;
    const take = Math.min(joined.length - joinedFilled, chunk.length - from);
    chunk.copy(joined, joinedFilled, from, from + take);
    joinedFilled += take;
    if (joinedFilled === joined.length) {
      const whole = joined;
      joined = null;
      sink.frame(whole[0] as number, whole);
    }
    return from + take;
  };

  /** Opens a frame whose header is known and whose payload goes beyond the bytes at hand. */
  const open = (start: Buffer, total: number, sink: FrameSink): void => {
    const type = start[0] as number;
    if (streams(type, total)) {
      streaming = { type, left: total - start.length };
      sink.piece(type, start, { first: true, last: false });
      return;
    }
    joined = Buffer.allocUnsafe(total);
    start.copy(joined, 0);
    joinedFilled = start.length;
  };

  const pushHeader = (chunk: Buffer, from: number, sink: FrameSink): number => {
    const take = Math.min(headerBytes - headerFilled, chunk.length - from);
    chunk.copy(header, headerFilled, from, from + take);
    headerFilled += take;
    if (headerFilled < headerBytes) return from + take;
    headerFilled = 0;
    const start = Buffer.from(header);
    const total = totalLength(start[0] as number, start.readInt32BE(1));
    if (total === headerBytes) sink.frame(start[0] as number, start);
    else open(start, total, sink);
    return from + take;
  };

  return {
    push(chunk, sink) {
      let at = 0;
      while (at < chunk.length) {
        if (streaming !== null) at = pushStreamed(chunk, at, sink);
        else if (joined !== null) at = pushJoined(chunk, at, sink);
        else if (headerFilled > 0 || chunk.length - at < headerBytes) at = pushHeader(chunk, at, sink);
        else {
          const type = chunk[at] as number;
          const total = totalLength(type, chunk.readInt32BE(at + 1));
          const end = Math.min(at + total, chunk.length);
          if (end === at + total) sink.frame(type, chunk.subarray(at, end));
          else open(chunk.subarray(at, end), total, sink);
          at = end;
        }
      }
    },
    get atBoundary() {
      return headerFilled === 0 && joined === null && streaming === null;
    },
  };
};

const describeType = (type: number): string =>
  type >= 0x21 && type <= 0x7e ? `"${String.fromCharCode(type)}"` : `0x${type.toString(16).padStart(2, '0')}`;
