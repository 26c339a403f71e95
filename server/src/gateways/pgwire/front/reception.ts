/**
 * Takes a client in: reads what it wants, sees whether it may come in, and gives it a session here or a way to the leader.
 *
 * Responsible for: everything up to the moment at which bytes pass. Invariant: whatever becomes of a connection, its place is free when it is closed.
 */
import type { Socket } from 'node:net';
import type { ClientService, Service } from '../../../ports/client-service.ts';
import { errorResponse, type GatewayError } from '../codec/backend-messages.ts';
import { ProtocolViolation, UnreadableStart } from '../codec/protocol-violation.ts';
import { type StartupMessage, startupParameter } from '../codec/startup.ts';
import * as errors from '../errors.ts';
import type { PgwireLimits } from '../limits.ts';
import { AnswerGate } from '../session/answer-gate.ts';
import { closeWithWords } from '../session/close-with-words.ts';
import type { LateWatch } from '../session/late-watch.ts';
import type { RequestDatabases } from '../session/named/request-databases.ts';
import { Session } from '../session/session.ts';
import type { Admission, Connection } from './admission.ts';
import { awaitService, type Placement } from './await-service.ts';
import type { CancelRegistry } from './cancel-registry.ts';
import { awaitFirstPacket } from './first-packet.ts';
import { Tunnel } from './tunnel.ts';

/** A client's connection that is being served: here, or by the leader. */
export interface Served {
  readonly client: Socket;
  onService(service: Service): void;
  end(error: GatewayError, options?: { readonly atOnce?: boolean }): void;
}

/** What all connections of a gateway share. */
export interface Front {
  readonly service: ClientService;
  readonly warn: (fields: object, message: string) => void;
  readonly limits: PgwireLimits;
  readonly admission: Admission;
  readonly cancels: CancelRegistry;
  readonly late: LateWatch;
  readonly requestDatabases: RequestDatabases;
  readonly sockets: Set<Socket>;
  readonly served: Set<Served>;
  gate: AnswerGate;
  answersHeld: number;
}

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
      const error = await place(front, { client, startup: opening, connection });
      if (error !== null) refuse(error);
    }
  } catch (error) {
    if (error instanceof UnreadableStart) {
      closeWithWords(client, [], limits.lastWordsMs);
      return;
    }
    const known = error instanceof ProtocolViolation;
    if (!known) front.warn({ error }, 'a client could not be served');
    refuse(known ? errors.protocolViolation(error.message) : errors.internalError(error));
  }
}

function cancel({ cancels, service }: Front, key: Buffer, forwarded: boolean): void {
  if (cancels.cancel(key) || forwarded) return;
  const now = service.service();
  if (now.kind === 'at') cancels.forward(now, key);
}

interface Arrival {
  readonly client: Socket;
  readonly startup: StartupMessage;
  readonly connection: Connection;
}

/** Returns why the client cannot be served, or null. */
async function place(front: Front, arrival: Arrival): Promise<GatewayError | null> {
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

function admissible(startup: StartupMessage, reserved: readonly string[]): GatewayError | null {
  const replication = startupParameter(startup, 'replication')?.toLowerCase();
  if (replication !== undefined && !['false', 'off', 'no', '0'].includes(replication)) {
    return errors.replicationRefused;
  }
  const user = startupParameter(startup, 'user');
  if (user === undefined || user === '') return errors.noUserName;
  return reserved.includes(user) ? errors.reservedUser(user) : null;
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
  });
  serve(front, {
    client,
    onService: (service) => tunnel.onService(service),
    end: (error, options) => tunnel.end(error, options),
  });
}

function openSession(front: Front, arrival: Arrival, placement: Extract<Placement, { kind: 'here' }>): void {
  const { client, startup, connection } = arrival;
  const { generation, door } = placement;
  const { socketPath } = door;
  let forgetKey = (): void => {};
  const session = new Session({
    client,
    socketPath,
    startup,
    service: front.service,
    gate: gateOf(front, generation),
    requestDatabases: front.requestDatabases,
    limits: front.limits,
    onAuthenticated: () => connection.becomeClient(),
    onKey: (key) => {
      forgetKey = front.cancels.add(key, { socketPath, isOwed: () => session.tracker.outstanding });
    },
  });
  const stopWatching = front.late.watch(session, generation);
  client.on('close', () => {
    forgetKey();
    stopWatching();
  });
  function onService(service: Service): void {
    if (service.kind !== 'here' || service.generation !== generation) session.end(errors.notLeaderAnyMore);
  }
  serve(front, { client, onService, end: (error, options) => session.end(error, options) });
  // It may have moved while the client waited for its turn.
  onService(front.service.service());
}

/** All sessions of one generation share a gate. */
function gateOf(front: Front, generation: number): AnswerGate {
  if (front.gate.generation !== generation) {
    front.answersHeld += front.gate.holds;
    front.gate = new AnswerGate(front.service, generation);
  }
  return front.gate;
}

function serve(front: Front, served: Served): void {
  front.served.add(served);
  served.client.on('close', () => front.served.delete(served));
  if (served.client.destroyed) front.served.delete(served);
}
