/** Reads one message from a connection on which two ends speak in turns, before bytes pass: a client that is asked to prove itself, a leader that is logged in to. */
import type { Socket } from 'node:net';
import { headerBytes } from '../../../pgwire/frame-splitter.ts';
import { front } from '../../../pgwire/message-types.ts';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';

/** Header and payload. What came behind it is put back into the socket, which is paused. Null: the other end has gone. @throws ProtocolViolation as soon as it cannot be one that is wanted */
export function readMessage(
  socket: Socket,
  payloadBytesMax: (type: number) => number,
): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);

    function finish(settle: () => void): void {
      socket.off('data', onData).off('close', onGone).off('end', onGone);
      socket.pause();
      settle();
    }

    function onGone(): void {
      finish(() => resolve(null));
    }

    function onData(chunk: Buffer): void {
      bytes = Buffer.concat([bytes, chunk]);
      try {
        const end = messageEnd(bytes, payloadBytesMax);
        if (end === null || bytes.length < end) return;
        const message = bytes.subarray(0, end);
        finish(() => resolve(message));
        if (bytes.length > end) socket.unshift(bytes.subarray(end));
      } catch (error) {
        finish(() => reject(error));
      }
    }

    if (socket.destroyed || socket.readableEnded) {
      resolve(null);
      return;
    }
    socket.on('data', onData).on('close', onGone).on('end', onGone);
    socket.resume();
  });
}

/** PostgreSQL's own bound. */
const answerBytesMax = 1_024;

/** Of a client that is asked to prove itself: the payload of a message of the type `p`. As `readMessage`. */
export async function readAnswer(client: Socket): Promise<Buffer | null> {
  const message = await readMessage(client, (type) => {
    if (type === front.password) return answerBytesMax;
    throw new ProtocolViolation(`expected SASL response, got message type ${type}`);
  });
  return message?.subarray(headerBytes) ?? null;
}

/** Null: that is not known yet. */
function messageEnd(bytes: Buffer, payloadBytesMax: (type: number) => number): number | null {
  const [type] = bytes;
  if (type === undefined) return null;
  const bytesMax = payloadBytesMax(type);
  if (bytes.length < headerBytes) return null;
  const length = bytes.readInt32BE(1);
  if (length < 4 || length > bytesMax + 4) throw new ProtocolViolation('invalid message length');
  return length + 1;
}
