/**
 * Encryption of a connection to another gateway of the cluster: asked for as by any client.
 *
 * Does not judge whose certificate it is shown: both ends bind their proofs to it (login/tunnel-proof.ts), which nobody in between can.
 */
import type { Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';
import { sslRequest } from '../codec/startup.ts';
import { protocolName } from './client-tls.ts';
import { fingerprintOf } from './tls-identity.ts';

export interface Secured {
  readonly socket: TLSSocket;
  /** Of the other end's certificate. */
  readonly fingerprint: Buffer;
}

/** Null: the other end declines. Rejects when it closes the connection, or says something else. The socket is paused. */
export async function askForTls(socket: Socket): Promise<Secured | null> {
  socket.write(sslRequest);
  const answer = await oneByte(socket);
  if (answer === 'N') return null;
  if (answer !== 'S')
    throw new ProtocolViolation('the server there is not a Barista gateway of this version');
  return new Promise((resolve, reject) => {
    const secure = connect({ socket, rejectUnauthorized: false, ALPNProtocols: [protocolName] });
    // What is wrong later shows in that the connection closes.
    secure.on('error', () => {});
    secure.once('secureConnect', () => {
      secure.off('error', reject).off('close', onClose);
      resolve({ socket: secure, fingerprint: fingerprintOf(secure.getPeerCertificate().raw) });
    });
    function onClose(): void {
      reject(new Error('it has closed the connection'));
    }
    secure.once('error', reject).once('close', onClose);
  });
}

/** Nothing may come behind it: that would be from somebody in between. Rejects when the other end goes. */
function oneByte(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    function finish(settle: () => void): void {
      socket.off('data', onData).off('close', onGone).off('end', onGone);
      socket.pause();
      settle();
    }
    function onGone(): void {
      finish(() => reject(new Error('it has closed the connection')));
    }
    function onData(chunk: Buffer): void {
      finish(() => {
        if (chunk.length === 1) resolve(chunk.toString('latin1'));
        else reject(new ProtocolViolation('data behind the answer to a request for encryption'));
      });
    }
    socket.on('data', onData).on('close', onGone).on('end', onGone);
    socket.resume();
  });
}
