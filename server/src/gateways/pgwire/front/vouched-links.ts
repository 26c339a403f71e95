/**
 * Connections to the SQL gateway that another gateway of this process has made for its own clients: who is at their other end is not this process, but those.
 *
 * Invariant: what is said of a connection counts for that connection alone: it is said between its being made and its first byte, and forgotten with the first look at it, or when it is given up.
 */
import { connect, type Socket } from 'node:net';
import { type ClientLink, plainAddress } from '../login/client-link.ts';

const anywhere: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

export class VouchedLinks {
  /** By address and port of the end that is not the gateway's. */
  private readonly links = new Map<string, ClientLink>();

  /** A connection to the gateway at this address, for the client that has this link. @throws Error if it is not to be had */
  connect(gateway: { readonly host: string; readonly port: number }, link: ClientLink): Promise<Socket> {
    const { host, port } = gateway;
    const socket = connect({ host: anywhere.get(host) ?? host, port, noDelay: true });
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('connect', () => {
        const name = nameOf(socket.localAddress, socket.localPort);
        this.links.set(name, link);
        const forget = (): void => {
          if (this.links.get(name) === link) this.links.delete(name);
        };
        socket.once('end', forget).once('error', forget).once('close', forget);
        socket.off('error', reject);
        resolve(socket);
      });
    });
  }

  /** Of a connection that has said its first word: who is at its other end, if another than seems so. */
  take(client: Socket): ClientLink | null {
    const name = nameOf(client.remoteAddress, client.remotePort);
    const link = this.links.get(name) ?? null;
    this.links.delete(name);
    return link;
  }
}

function nameOf(address: string | undefined, port: number | undefined): string {
  return `${plainAddress(address)} ${port}`;
}
