/** A client that speaks the protocol byte by byte, once `pg` has done its start-up and authentication. For tests. */
import type { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { readErrorFields } from '../codec/backend-messages.ts';
import { createFrameSplitter, headerBytes } from '../codec/frame-splitter.ts';
import { back } from '../codec/message-types.ts';

export interface Frame {
  readonly type: string;
  readonly bytes: Buffer;
}

export interface WireClient {
  send(...messages: readonly Buffer[]): void;
  /** Frames up to and with the `count`th one of type `type`. */
  until(type: string, count?: number): Promise<Frame[]>;
  /** All frames until the server closes the connection. */
  untilClosed(): Promise<Frame[]>;
  readonly socket: Socket;
  close(): void;
}

const waitMs = 10_000;

export const connectWire = async (config: ClientConfig): Promise<WireClient> => {
  const client = new Client(config);
  client.on('error', () => {});
  await client.connect();
  const socket = (client as unknown as { connection: { stream: Socket } }).connection.stream;
  socket.removeAllListeners();
  socket.on('error', () => {});
  let frames: Frame[] = [];
  let closed = false;
  let wake = (): void => {};
  const splitter = createFrameSplitter({
    wholeBytesMax: 64 * 1_048_576,
    streamedBytesMax: 0,
    pieceBytesMin: 0,
    streams: () => false,
  });
  socket.on('data', (chunk: Buffer) => {
    splitter.push(chunk, {
      frame: (type, bytes) => frames.push({ type: String.fromCharCode(type), bytes: Buffer.from(bytes) }),
      piece: () => {},
    });
    wake();
  });
  socket.on('close', () => {
    closed = true;
    wake();
  });
  socket.resume();

  const waitFor = async (enough: () => number): Promise<Frame[]> => {
    const deadline = performance.now() + waitMs;
    for (;;) {
      const length = enough();
      if (length > 0 || closed) {
        const taken = frames.slice(0, length > 0 ? length : undefined);
        frames = frames.slice(taken.length);
        return taken;
      }
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`nothing more came after ${tellFrames(frames)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };

  return {
    socket,
    send(...messages) {
      socket.write(Buffer.concat(messages));
    },
    until(type, count = 1) {
      // Goes on where it stopped: answers have tens of thousands of rows.
      let seen = 0;
      let index = 0;
      return waitFor(() => {
        while (index < frames.length && seen < count) {
          if (frames[index++]!.type === type) seen += 1;
        }
        return seen === count ? index : 0;
      });
    },
    untilClosed: () => waitFor(() => 0),
    close: () => socket.destroy(),
  };
};

/** The last of many. */
const tellFrames = (frames: readonly Frame[]): string =>
  `${frames.length} messages: ${frames.slice(-20).map(describeFrame).join(' | ').slice(0, 4000)}`;

const readable = (bytes: Buffer): string =>
  bytes.toString('latin1').replaceAll(/[^\u0020-\u007e]/g, (byte) => `\\${byte.charCodeAt(0).toString(16)}`);

/** A line for people and for comparing; what differs from session to session is left out. */
export const describeFrame = ({ type, bytes }: Frame): string => {
  const code = bytes[0];
  if (code === back.errorResponse || code === back.noticeResponse) {
    const fields = [...readErrorFields(bytes)].filter(([letter]) => !'SFLR'.includes(letter));
    return `${type} ${fields.map(([letter, value]) => `${letter}=${value}`).join(' ')}`;
  }
  if (code === back.rowDescription) return `T ${columnNames(bytes).join(',')}`;
  if (code === back.notificationResponse) return `A ${readable(bytes.subarray(headerBytes + 4))}`;
  return `${type} ${readable(bytes.subarray(headerBytes))}`;
};

const columnNames = (frame: Buffer): string[] => {
  const names: string[] = [];
  let at = headerBytes + 2;
  for (let left = frame.readInt16BE(headerBytes); left > 0; left -= 1) {
    const end = frame.indexOf(0, at);
    names.push(
      `${frame.toString('utf8', at, end)}:${frame.readInt32BE(end + 7)}:${frame.readInt16BE(end + 17)}`,
    );
    at = end + 19;
  }
  return names;
};
