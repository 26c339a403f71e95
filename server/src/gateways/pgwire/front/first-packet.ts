/** Reads a connection's first packet, with what is said about encryption before it. */
import type { Socket } from 'node:net';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';
import { type FirstPacket, readFirstPacket } from '../codec/startup.ts';

/** `encrypt`: TLS is to begin now; `atOnce`: the client has begun with it unasked. */
export type Opening =
  | Exclude<FirstPacket, { kind: 'ssl' | 'gss' }>
  | { readonly kind: 'encrypt'; readonly atOnce: boolean };

/** Whether TLS can be had, cannot, or is there already. */
export type TlsOffer = 'offered' | 'declined' | 'done';

/** SSL and GSSAPI may be asked for once each. */
const declinesMax = 2;
/** The first byte of a TLS handshake, and of no packet of a length that is allowed. */
const handshakeType = 0x16;

/** What came behind the packet is put back into the socket, which is paused; of a handshake that has begun all is. Null: the client has gone. @throws ProtocolViolation */
export function awaitFirstPacket(client: Socket, offer: TlsOffer): Promise<Opening | null> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);
    let declined = 0;
    let isFirst = true;

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
      if (offer === 'offered' && isFirst && bytes[0] === handshakeType) {
        return { kind: 'encrypt', atOnce: true };
      }
      for (;;) {
        const read = readFirstPacket(bytes);
        if (read === null) return null;
        isFirst = false;
        bytes = bytes.subarray(read.length);
        const { packet } = read;
        if (packet.kind === 'startup' || packet.kind === 'cancel') return packet;
        declined += 1;
        if (declined > declinesMax || offer === 'done')
          throw new ProtocolViolation('encryption was asked for again');
        // Somebody in between may have put it there, for it to count as said in confidence.
        if (bytes.length > 0)
          throw new ProtocolViolation(
            `received unencrypted data after ${packet.kind === 'ssl' ? 'SSL' : 'GSSAPI encryption'} request`,
          );
        if (packet.kind === 'ssl' && offer === 'offered') {
          client.write('S');
          return { kind: 'encrypt', atOnce: false };
        }
        client.write('N');
      }
    }

    client.on('data', onData).on('close', onGone).on('end', onGone);
  });
}
