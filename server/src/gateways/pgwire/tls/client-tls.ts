/**
 * TLS with clients: takes a connection on which encryption was agreed, and hands it back encrypted.
 *
 * Responsible for: the handshake, who the client is by its certificate, and taking new certificates from the files without a restart.
 * Invariants: files that are wrong change nothing, and are told; a connection is bound to the certificate that it was shown, though another has come since. Nothing is said on a connection whose handshake fails.
 */
import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls';
import { sourceOf } from '../../by-source.ts';
import { plainAddress, type Encryption } from '../login/client-link.ts';
import { helloCame } from './client-hello.ts';
import { Pace, type PaceOptions } from './pace.ts';
import { readTlsIdentity, stateOfFiles, type TlsFiles, type TlsIdentity } from './tls-identity.ts';

export interface ClientTlsOptions {
  readonly files: TlsFiles;
  /** How often the files are looked at. */
  readonly lookMs: number;
  readonly handshakeTimeoutMs: number;
  /** How often one may begin. */
  readonly pace: PaceOptions;
  readonly logger: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
}

export interface Encrypted {
  readonly socket: TLSSocket;
  readonly encryption: Encryption;
  /** Of the certificate that the client was shown. */
  readonly fingerprint: Buffer;
  /** The client has named the protocol that it speaks, without which it may not begin with TLS at once. */
  readonly namesProtocol: boolean;
}

/** By the registry of such names (ALPN). */
export const protocolName = 'postgresql';
const soonMs = 14 * 24 * 3_600_000;
const dayMs = 24 * 3_600_000;

export class ClientTls {
  private readonly options: ClientTlsOptions;
  private identity: TlsIdentity;
  private state: string;
  private readonly server: Server;
  /** By addresses and ports of both ends. */
  private readonly underWay = new Map<string, (socket: TLSSocket | null) => void>();
  private readonly pace: Pace;
  private readonly timer: NodeJS.Timeout;
  private looking = false;
  private warnedAtMs = -dayMs;

  private constructor(options: ClientTlsOptions, identity: TlsIdentity, state: string) {
    this.options = options;
    this.identity = identity;
    this.state = state;
    this.pace = new Pace(options.pace);
    this.server = createServer({
      ...this.settings(),
      handshakeTimeout: options.handshakeTimeoutMs,
      allowHalfOpen: true,
    });
    this.server.on('secureConnection', (socket) => this.settle(socket, socket));
    this.server.on('tlsClientError', (_, socket) => this.settle(socket, null));
    this.timer = setInterval(() => void this.look(), options.lookMs).unref();
    this.warnOfEnd();
  }

  /** @throws Error that says what is wrong with which file */
  static async open(options: ClientTlsOptions): Promise<ClientTls> {
    const state = await stateOfFiles(options.files);
    return new ClientTls(options, await readTlsIdentity(options.files), state);
  }

  /** Null: the handshake failed, and the connection is being closed. `client` is paused; what it has buffered is part of the handshake. Never rejects. */
  accept(client: Socket): Promise<Encrypted | null> {
    return new Promise((resolve) => {
      let { endpoint, fingerprint } = this.identity;
      const name = nameOf(client);
      if (client.destroyed || name === null || this.underWay.has(name)) {
        client.destroy();
        resolve(null);
        return;
      }
      const settle = (socket: TLSSocket | null): void => {
        this.underWay.delete(name);
        client.off('close', onClose);
        if (socket === null) {
          client.destroy();
          resolve(null);
          return;
        }
        const encryption = { endpoint, certificateName: commonName(socket) };
        const namesProtocol = socket.alpnProtocol === protocolName;
        resolve({ socket, encryption, fingerprint, namesProtocol });
      };
      const onClose = (): void => settle(null);
      client.on('close', onClose);
      this.underWay.set(name, settle);
      const source = sourceOf(plainAddress(client.remoteAddress));
      void helloCame(client).then((isHello) => {
        if (client.destroyed) return;
        if (!isHello) return settle(null);
        this.pace.turn(
          source,
          () => {
            ({ endpoint, fingerprint } = this.identity);
            this.server.emit('connection', client);
          },
          () => client.destroyed,
        );
      });
    });
  }

  close(): void {
    clearInterval(this.timer);
  }

  private settle(of: TLSSocket, socket: TLSSocket | null): void {
    const name = nameOf(of);
    // One that has gone meanwhile has no name any more: that it is closed is noticed by itself.
    if (name !== null) this.underWay.get(name)?.(socket);
  }

  private settings(): TlsOptions {
    const { cert, key, ca } = this.identity;
    return {
      cert,
      key,
      ca,
      requestCert: ca !== undefined,
      // Whether a certificate is needed is said by the rules of access.
      rejectUnauthorized: false,
      ALPNProtocols: [protocolName],
      minVersion: 'TLSv1.2',
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    };
  }

  private async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    const { files, logger } = this.options;
    const state = await stateOfFiles(files);
    if (state !== this.state) {
      this.state = state;
      try {
        this.identity = await readTlsIdentity(files);
        this.server.setSecureContext(this.settings());
        const { validTo } = this.identity;
        logger.info({ certificate: files.certificate, validTo }, 'new certificates are in use');
        this.warnedAtMs = -dayMs;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        logger.warn({ reason }, 'new certificates cannot be used: those of before stay in use');
      }
    }
    this.warnOfEnd();
    this.looking = false;
  }

  /** Once a day. */
  private warnOfEnd(): void {
    const { validTo } = this.identity;
    if (validTo.getTime() - Date.now() > soonMs || performance.now() - this.warnedAtMs < dayMs) return;
    this.warnedAtMs = performance.now();
    const { certificate } = this.options.files;
    const message = 'the certificate for SQL clients is about to expire, or has: put a new one into its file';
    this.options.logger.warn({ certificate, validTo }, message);
  }
}

/** Null: it is not connected any more. */
function nameOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string | null {
  return remoteAddress === undefined ? null : [localAddress, localPort, remoteAddress, remotePort].join(' ');
}

/** Of a certificate that the authority vouches for. One that has several names is nobody's. */
function commonName(socket: TLSSocket): string | null {
  if (!socket.authorized) return null;
  const name: unknown = socket.getPeerCertificate().subject?.CN;
  return typeof name === 'string' && name !== '' ? name : null;
}
