/**
 * Start-up of a client of the leader: passes authentication through between the client and its new PostgreSQL session.
 *
 * Invariants: before PostgreSQL says that it is ready, only password messages go in; what the client sends too early waits. The
 * secret of BackendKeyData is noted, so that a CancelRequest finds the session.
 */
import type { Socket } from 'node:net';
import { readParameterStatus } from '../codec/backend-messages.ts';
import { createFrameSplitter } from '../codec/frame-splitter.ts';
import { back, front } from '../codec/message-types.ts';
import type { GatewayError } from '../codec/backend-messages.ts';
import { databaseWentAway, protocolViolation } from '../errors.ts';
import { unsafeSetting } from '../session/safety.ts';

export type HandshakeOutcome =
  /** `early`: messages that the client has sent behind its password. */
  | { readonly kind: 'ready'; readonly backendKey: Buffer | null; readonly early: Buffer }
  /** PostgreSQL refused, and the client has its message. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'failed'; readonly error: GatewayError }
  | { readonly kind: 'clientGone' };

const passwordBytesMax = 65_536;

export const passAuthentication = (
  client: Socket,
  backend: Socket,
  startup: Buffer,
): Promise<HandshakeOutcome> =>
  new Promise((resolve) => {
    let backendKey: Buffer | null = null;
    let refused = false;
    const early: Buffer[] = [];
    let earlyBytes = 0;

    const limits = {
      wholeBytesMax: passwordBytesMax,
      streamedBytesMax: 0,
      pieceBytesMin: 0,
      streams: () => false,
    };
    const fromClient = createFrameSplitter(limits);
    const fromBackend = createFrameSplitter({ ...limits, wholeBytesMax: 1_048_576 });

    const finish = (outcome: HandshakeOutcome): void => {
      client.off('data', onClientData).off('close', onClientClose).off('error', onClientClose);
      backend.off('data', onBackendData).off('close', onBackendClose).off('error', onBackendClose);
      if (outcome.kind === 'ready') {
        client.pause();
        backend.pause();
      } else backend.destroy();
      resolve(outcome);
    };
    const fail = (error: unknown): void =>
      finish({
        kind: 'failed',
        error: protocolViolation(error instanceof Error ? error.message : String(error)),
      });

    const onBackendFrame = (type: number, frame: Buffer): void => {
      if (type === back.backendKeyData) backendKey = Buffer.from(frame.subarray(5));
      if (type === back.errorResponse) refused = true;
      if (type === back.parameterStatus) {
        const unsafe = unsafeSetting(readParameterStatus(frame));
        if (unsafe !== null) finish({ kind: 'failed', error: unsafe });
      }
      client.write(frame);
      if (type === back.readyForQuery) finish({ kind: 'ready', backendKey, early: Buffer.concat(early) });
    };
    const onBackendData = (chunk: Buffer): void => {
      try {
        fromBackend.push(chunk, { frame: onBackendFrame, piece: () => {} });
      } catch (error) {
        fail(error);
      }
    };
    const onBackendClose = (): void =>
      finish(refused ? { kind: 'refused' } : { kind: 'failed', error: databaseWentAway });

    const onClientFrame = (type: number, frame: Buffer): void => {
      if (type === front.password) backend.write(frame);
      else {
        early.push(frame);
        earlyBytes += frame.length;
        if (earlyBytes > passwordBytesMax) fail('too much was sent before authentication');
      }
    };
    const onClientData = (chunk: Buffer): void => {
      try {
        fromClient.push(chunk, { frame: onClientFrame, piece: () => {} });
      } catch (error) {
        fail(error);
      }
    };
    const onClientClose = (): void => finish({ kind: 'clientGone' });

    client.on('data', onClientData).on('close', onClientClose).on('error', onClientClose);
    backend.on('data', onBackendData).on('close', onBackendClose).on('error', onBackendClose);
    backend.write(startup);
    client.resume();
  });
