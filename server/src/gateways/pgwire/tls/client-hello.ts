/** Waits for the beginning of a TLS handshake, so that whoever only asks for one costs no turn of the pace. */
import type { Socket } from 'node:net';

/** RFC 8446, 5.1: of a record. */
const headerBytes = 5;
const handshakeRecord = 22;
const majorVersion = 3;
const recordBytesMax = 16_384;
/** The first byte of the record's content, 4.: a ClientHello. */
const clientHello = 1;

/** The first record is there as a whole, and begins a handshake: it stays in the socket, which is paused. False: that is no handshake, or the client has gone. Never rejects. */
export function helloCame(client: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let length = 0;
    /** Of the record with its header, once that is known. */
    let wanted = headerBytes + 1;

    function finish(isHello: boolean): void {
      client.off('data', onData).off('close', onGone).off('end', onGone);
      client.pause();
      if (length > 0) client.unshift(Buffer.concat(chunks));
      resolve(isHello);
    }

    function onGone(): void {
      chunks = [];
      length = 0;
      finish(false);
    }

    function onData(chunk: Buffer): void {
      chunks.push(chunk);
      length += chunk.length;
      if (length < wanted) return;
      if (wanted === headerBytes + 1) {
        const start = Buffer.concat(chunks);
        chunks = [start];
        const bytes = start.readUInt16BE(3);
        const isHello =
          start[0] === handshakeRecord &&
          start[1] === majorVersion &&
          bytes > 0 &&
          bytes <= recordBytesMax &&
          start[headerBytes] === clientHello;
        if (!isHello) return finish(false);
        wanted = headerBytes + bytes;
      }
      if (length >= wanted) finish(true);
    }

    client.on('data', onData).on('close', onGone).on('end', onGone);
    client.resume();
  });
}
