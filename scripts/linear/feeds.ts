/** Ways to feed a hostile text to what reads clients' bytes: as a string, as a stream in chunks, or as whole messages. */
import type { StartupMessage } from '../../server/src/gateways/pgwire/codec/startup.ts';
import { FrameSplitter } from '../../server/src/pgwire/frame-splitter.ts';
import * as send from '../../server/src/pgwire/frontend-messages.ts';

/** As a socket brings it. */
const chunkBytes = 65_536;
export const frameBytesMax = 2 ** 30;

export type Feed = (bytes: Buffer) => void;

/** Of a function that takes a string of latin1. */
export function text(read: (text: string) => unknown): Feed {
  return (bytes) => void read(bytes.toString('latin1'));
}

export function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

/** All messages of the stream in which a client may send the text: as SQL, as a name, as a parameter, and as the stream itself. */
export function* streamsOf(bytes: Buffer): Generator<Buffer> {
  const value = bytes.toString('latin1').replaceAll('\0', '');
  if (bytes.length > 2 * chunkBytes) {
    const said = send.query('SELECT set_config($1, $2, false)');
    yield Buffer.concat([
      said,
      send.query(value),
      send.bind({ portal: '', statement: '', parameters: [bytes] }),
    ]);
    return;
  }
  const small = value.slice(0, 4);
  yield Buffer.concat([
    send.query(`SELECT set_config($1, $2, false); ${small}`),
    send.query(value),
    send.parse('', value),
    send.parse(value, small),
    send.bind({ portal: value, statement: '', parameters: [bytes, value] }),
    send.describePortal(value),
    send.execute(value),
    send.closeStatement(value),
    send.sync,
  ]);
  yield many(send.parse(small, small), bytes.length);
  yield many(send.bind({ portal: '', statement: small, parameters: [small] }), bytes.length);
  yield many(Buffer.concat([send.describePortal(''), send.execute('')]), bytes.length);
  yield many(Buffer.from('Q\0\0\0\x05;', 'latin1'), bytes.length);
  yield bytes;
}

function many(message: Buffer, bytes: number): Buffer {
  return Buffer.concat(Array.from({ length: Math.ceil(bytes / message.length) }, () => message));
}

/** Feeds it to what reads messages. What is no protocol is refused. */
export function stream(make: () => (chunk: Buffer) => unknown): Feed {
  return (bytes) => {
    for (const each of streamsOf(bytes)) {
      const read = make();
      refused(() => {
        for (const chunk of chunksOf(each)) read(chunk);
      });
    }
  };
}

/** It may say that this is not what it reads. */
export function refused(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    if (error instanceof RangeError) throw error;
  }
}

export function startupOf(value: string): StartupMessage {
  const parameters = [['options', value] as const, [value, value] as const];
  return { kind: 'startup', version: 3 << 16, parameters, tunnelNonce: null };
}

export function parts(take: (part: FrameSplitter, chunk: Buffer) => unknown): (chunk: Buffer) => void {
  const splitter = new FrameSplitter(frameBytesMax);
  return (chunk) => {
    splitter.feed(chunk);
    while (splitter.next()) take(splitter, chunk);
  };
}
