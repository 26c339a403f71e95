/** A client that speaks the protocol byte by byte, once `pg` has done its start-up and authentication. For tests. */
import type { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { readErrorFields } from '../../../pgwire/backend-messages.ts';
import { FrameGatherer } from '../../../pgwire/frame-gatherer.ts';
import { FrameSplitter, headerBytes } from '../../../pgwire/frame-splitter.ts';
import { back } from '../../../pgwire/message-types.ts';

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

const waitMs = 50_000;

export async function connectWire(config: ClientConfig): Promise<WireClient> {
  const client = new Client(config);
  client.on('error', () => {});
  await client.connect();
  const socket = (client as unknown as { connection: { stream: Socket } }).connection.stream;
  socket.removeAllListeners();
  return followWire(socket);
}

/** Speaks on a socket on which nothing has been said, or that stands between two messages. */
export function followWire(socket: Socket): WireClient {
  socket.on('error', () => {});
  let frames: Frame[] = [];
  let closed = false;
  let wake = (): void => {};
  const splitter = new FrameSplitter(1024 * 1_048_576);
  const gatherer = new FrameGatherer(64 * 1_048_576);
  socket.on('data', (chunk: Buffer) => {
    splitter.feed(chunk);
    while (splitter.next()) {
      const bytes = gatherer.add(splitter, chunk);
      if (bytes !== null)
        frames.push({ type: String.fromCharCode(splitter.type), bytes: Buffer.from(bytes) });
    }
    wake();
  });
  socket.on('close', () => {
    closed = true;
    wake();
  });
  socket.resume();

  async function waitFor(enough: () => number): Promise<Frame[]> {
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
  }

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
}

/** The last of many. */
function tellFrames(frames: readonly Frame[]): string {
  return `${frames.length} messages: ${frames
    .slice(-20)
    .map((frame) => describeFrame(frame).slice(0, 100))
    .join(' | ')}`;
}

function readable(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replaceAll(/[^\u0020-\u007e]/g, (byte) => `\\${byte.charCodeAt(0).toString(16)}`);
}

/** A line for people and for comparing; what differs from session to session is left out. */
export function describeFrame({ type, bytes }: Frame): string {
  const code = bytes[0];
  if (code === back.errorResponse || code === back.noticeResponse) {
    const fields = [...readErrorFields(bytes)].filter(([letter]) => !'SFLR'.includes(letter));
    return `${type} ${fields.map(([letter, value]) => `${letter}=${value}`).join(' ')}`;
  }
  if (code === back.notificationResponse) return `A ${readable(bytes.subarray(headerBytes + 4))}`;
  return `${type} ${readable(bytes.subarray(headerBytes))}`;
}

/** All bytes of a message, but for the identities of the table and of the processes, which differ from one run to another. */
export function exactFrame({ type, bytes }: Frame): string {
  const copy = Buffer.from(bytes);
  const code = bytes[0];
  if (code === back.rowDescription) {
    let at = headerBytes + 2;
    for (let left = copy.readInt16BE(headerBytes); left > 0; left -= 1) {
      const end = copy.indexOf(0, at);
      copy.fill(0, end + 1, end + 5);
      at = end + 19;
    }
  }
  if (code === back.notificationResponse) copy.fill(0, headerBytes, headerBytes + 4);
  if (code === back.backendKeyData) return `${type} ${bytes.length} bytes`;
  return `${type} ${readable(copy.subarray(1))}`;
}
