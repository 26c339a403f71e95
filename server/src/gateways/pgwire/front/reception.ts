/**
 * Takes a client in: reads what it wants, sees whether it may come in, and gives it a session here or a way to the leader.
 *
 * Responsible for: everything up to the moment at which bytes pass. Invariant: whatever becomes of a connection, its place is free when it is closed.
 */
import type { Socket } from 'node:net';
import type { Service } from '../../../ports/client-service.ts';
import { errorResponse, type GatewayError } from '../codec/backend-messages.ts';
import { ProtocolViolation, UnreadableStart } from '../codec/protocol-violation.ts';
import { consistencyOf, readModes } from '../codec/read-consistency.ts';
import * as errors from '../errors.ts';
import { closeWithWords } from '../session/close-with-words.ts';
import { awaitService } from './await-service.ts';
import { awaitFirstPacket } from './first-packet.ts';
import { placeReader } from './reading.ts';
import { admissible, type Arrival, type Front, openSession, serve, type Served } from './sessions.ts';
import { Tunnel } from './tunnel.ts';

/** A new connection, until it is closed or served. Never rejects. */
export async function receive(front: Front, client: Socket): Promise<void> {
  const { admission, sockets, limits } = front;
  function refuse(error: GatewayError): void {
    closeWithWords(client, [errorResponse('FATAL', error)], limits.lastWordsMs);
  }
  sockets.add(client);
  const connection = admission.open((error) => {
    const served = [...front.served].find((one) => one.client === client);
    if (served === undefined) refuse(error);
    else served.end(error);
  });
  client.on('close', () => {
    sockets.delete(client);
    connection.closed();
  });
  client.on('error', () => client.destroy());
  try {
    const opening = await awaitFirstPacket(client);
    if (opening === null) client.destroy();
    else if (opening.kind === 'cancel') {
      client.destroy();
      cancel(front, opening.key, opening.forwarded);
    } else {
      await placeOrRefuse(front, { client, startup: opening, connection });
    }
  } catch (error) {
    if (error instanceof UnreadableStart) closeWithWords(client, [], limits.lastWordsMs);
    else refuse(whyNotServed(front, error));
  }
}

function whyNotServed(front: Front, error: unknown): GatewayError {
  if (error instanceof ProtocolViolation) return errors.protocolViolation(error.message);
  front.warn({ error }, 'a client could not be served');
  return errors.internalError(error);
}

/** Again, where whom it was passed on to leads no more and had not answered. Never rejects. */
async function placeOrRefuse(front: Front, arrival: Arrival): Promise<void> {
  let error: GatewayError | null;
  try {
    error = await place(front, arrival);
  } catch (thrown) {
    error = whyNotServed(front, thrown);
  }
  if (error !== null)
    closeWithWords(arrival.client, [errorResponse('FATAL', error)], front.limits.lastWordsMs);
}

function cancel({ cancels, service }: Front, key: Buffer, forwarded: boolean): void {
  if (cancels.cancel(key) || forwarded) return;
  const now = service.service();
  if (now.kind === 'at') cancels.forward(now, key);
}

/** Returns why the client cannot be served, or null. */
async function place(front: Front, arrival: Arrival): Promise<GatewayError | null> {
  const consistency = consistencyOf(arrival.startup);
  if ('value' in consistency) return errors.wrongReadSetting(consistency.name, consistency.value, readModes);
  if (consistency.mode !== 'leader') return placeReader(front, arrival, consistency);
  const { client, startup, connection } = arrival;
  const placement = await awaitService({
    service: front.service,
    tunnelled: startup.tunnelled,
    waitMs: front.limits.leaderWaitMs,
    isGone: () => client.destroyed,
  });
  if (client.destroyed) return null;
  if (placement.kind === 'nowhere') return placement.error;
  const reserved = placement.kind === 'here' ? placement.door.reservedUsers : [];
  const refused = admissible(startup, reserved) ?? (await connection.logIn());
  if (refused !== null || client.destroyed) return refused;
  if (placement.kind === 'here') openSession(front, arrival, placement);
  else openTunnel(front, arrival, placement);
  return null;
}

function openTunnel(front: Front, arrival: Arrival, leader: Extract<Service, { kind: 'at' }>): void {
  const { client, startup, connection } = arrival;
  const tunnel = new Tunnel({
    client,
    leader,
    startup,
    limits: front.limits,
    service: front.service,
    onAuthenticated: () => connection.becomeClient(),
    onUnheard: () => {
      front.served.delete(served);
      void placeOrRefuse(front, arrival);
    },
  });
  const served: Served = {
    client,
    onService: (service) => tunnel.onService(service),
    end: (error, options) => tunnel.end(error, options),
  };
  serve(front, served);
  // It may have moved while the client waited for its turn.
  tunnel.onService(front.service.service());
}
