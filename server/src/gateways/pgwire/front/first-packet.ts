/** Reads a connection's first packet, declining encryption as often as the protocol allows it to be asked for. */
import type { Socket } from 'node:net';
import { ProtocolViolation } from '../codec/protocol-violation.ts';
import { type FirstPacket, readFirstPacket } from '../codec/startup.ts';

export type Opening = Exclude<FirstPacket, { kind: 'ssl' | 'gss' }>;

/** SSL and GSSAPI may be asked for once each. */
const declinesMax = 2;

/** What came behind the packet is put back into the socket, which is paused. Null: the client has gone. @throws ProtocolViolation */
export function awaitFirstPacket(client: Socket): Promise<Opening | null> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);
    let declined = 0;

    function finish(settle: () => void): void {
      client.off('data', onData).off('close', onGone).off('end', onGone);
      client.pause();
      settle();
    }

    function onGone(): void {
      finish(() => resolve(null));
    }

    function onData(chunk: Buffer): void {
      bytes = Buffer.concat([bytes, chunk]);
      try {
        const packet = readAll();
        if (packet === null) return;
        finish(() => resolve(packet));
        if (bytes.length > 0) client.unshift(bytes);
      } catch (error) {
        finish(() => reject(error));
      }
    }

    function readAll(): Opening | null {
      for (;;) {
        const read = readFirstPacket(bytes);
        if (read === null) return null;
        bytes = bytes.subarray(read.length);
        const { packet } = read;
        if (packet.kind === 'startup' || packet.kind === 'cancel') return packet;
        declined += 1;
        if (declined > declinesMax) throw new ProtocolViolation('encryption was asked for again');
        if (bytes.length > 0) throw new ProtocolViolation('data behind an encryption request');
        client.write('N');
      }
    }

    client.on('data', onData).on('close', onGone).on('end', onGone);
  });
}
