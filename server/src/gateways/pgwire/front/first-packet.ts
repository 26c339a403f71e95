/** Reads a connection's first packet, declining encryption as often as the protocol allows it to be asked for. */
import type { Socket } from 'node:net';
import { ProtocolViolation } from '../codec/protocol-violation.ts';
import { type FirstPacket, readFirstPacket } from '../codec/startup.ts';

export type Opening = Exclude<FirstPacket, { kind: 'ssl' | 'gss' }>;

/** `rest`: what came behind it. null: the client has gone. @throws ProtocolViolation */
export const awaitFirstPacket = (
  client: Socket,
): Promise<{ readonly packet: Opening; readonly rest: Buffer } | null> =>
  new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);
    let declined = 0;

    const finish = (settle: () => void): void => {
      client.off('data', onData).off('close', onGone).off('end', onGone).off('error', onGone);
      client.pause();
      settle();
    };
    const onGone = (): void => finish(() => resolve(null));

    const readAll = (): void => {
      for (;;) {
        const read = readFirstPacket(bytes);
        if (read === null) return;
        bytes = bytes.subarray(read.length);
        const { packet } = read;
        if (packet.kind === 'startup' || packet.kind === 'cancel') {
          finish(() => resolve({ packet, rest: bytes }));
          return;
        }
        declined += 1;
        if (declined > 2) throw new ProtocolViolation('encryption was asked for again');
        if (bytes.length > 0) throw new ProtocolViolation('data behind an encryption request');
        client.write('N');
      }
    };
    const onData = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      try {
        readAll();
      } catch (error) {
        finish(() => reject(error));
      }
    };
    client.on('data', onData).on('close', onGone).on('end', onGone).on('error', onGone);
  });
