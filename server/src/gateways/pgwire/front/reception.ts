/**
 * Takes a client in: reads what it wants, sees whether it may come in, and gives it a session here or a way to the leader.
 *
 * Responsible for: everything up to the moment at which bytes pass. Invariant: whatever becomes of a connection, its place is free when it is closed.
 */
import type { Socket } from 'node:net';
import type { Service } from '../../../ports/client-service.ts';
import { errorResponse, type GatewayError } from '../../../pgwire/backend-messages.ts';
import { ProtocolViolation, UnreadableStart } from '../../../pgwire/protocol-violation.ts';
import { consistencyOf, readModes } from '../codec/read-consistency.ts';
import { plainStartup, roleOf, type StartupMessage } from '../codec/startup.ts';
import * as errors from '../errors.ts';
import { KeptClient, type KeptClientOptions } from '../kept/kept-client.ts';
import type { LeftSession } from '../kept/left-session.ts';
import { isSamePlace, type Place, type Upstream, upstreamOpener } from '../kept/upstream.ts';
import { closeWithWords } from '../session/close-with-words.ts';
import { plainAddress } from '../login/client-link.ts';
import { acceptTunnel } from '../login/accept-tunnel.ts';
import { isGone, letGo } from '../login/authenticate.ts';
import { awaitService, changeOrPoll } from './await-service.ts';
import type { Connection } from './admission.ts';
import { letIn, letInForLeader } from './let-in.ts';
import { type Opened, openConnection } from './open-connection.ts';
import { placeReader } from './reading.ts';
import { placeStatementClient } from './statement-clients.ts';
import {
  admissible,
  applicantOf,
  type Arrival,
  type Front,
  openSession,
  serve,
  type Served,
} from './sessions.ts';

const unreachableAgainMs = 100;

/** A new connection, until it is closed or served. Never rejects. */
export async function receive(front: Front, raw: Socket): Promise<void> {
  const { admission, sockets, limits } = front;
  const mostWithWords = limits.clientsMax + limits.openingMax + limits.provingMax + limits.leavingMax;
  /** What the client is spoken to on; null: TLS is being agreed on, and nothing can be said. */
  let client: Socket | null = raw;
  function say(words: readonly Buffer[]): void {
    // Who does not take them holds a descriptor for so long.
    if (client === null || sockets.size > mostWithWords) raw.destroy();
    else closeWithWords(client, words, limits.lastWordsMs);
  }
  function refuse(error: GatewayError): void {
    front.told.note(false, error.sqlState);
    say([errorResponse('FATAL', error)]);
  }
  sockets.add(raw);
  const connection = admission.open(plainAddress(raw.remoteAddress), (error) => {
    const served = client === null ? undefined : front.served.get(client);
    if (served === undefined) refuse(error);
    else served.end(error);
  });
  raw.on('close', () => {
    sockets.delete(raw);
    connection.closed();
  });
  /** It is told once, and to whoever listens then: of one that nobody serves yet nobody would hear it later. */
  function ended(socket: Socket): void {
    connection.ended();
    if (socket === client && !front.served.has(socket)) letGo(socket);
  }
  raw.on('end', () => ended(raw));
  raw.on('error', () => raw.destroy());
  try {
    const opened = await openConnection(raw, front.tls, front.vouched, (socket) => {
      client = socket;
      if (socket === null) return;
      sockets.delete(raw);
      sockets.add(socket);
      if (socket !== raw) socket.on('end', () => ended(socket));
      socket.on('close', () => {
        sockets.delete(socket);
        raw.destroy();
      });
    });
    if (opened === null) return;
    const { wants } = opened;
    if (wants.kind === 'cancel') {
      await cancel(front, wants.key, wants.forwarded);
      opened.client.destroy();
    } else await welcome(front, opened, connection, wants);
  } catch (error) {
    if (error instanceof UnreadableStart) say([]);
    else refuse(whyNotServed(front, error));
  }
}

/** It may be a follower's gateway, which speaks for its client. */
async function welcome(
  front: Front,
  { client, link, fingerprint }: Opened,
  connection: Connection,
  opening: StartupMessage,
): Promise<void> {
  const startup = plainStartup(opening);
  const { tunnelNonce } = opening;
  const known = { key: front.keys.tunnel, fingerprint, offersTls: front.tls !== null };
  const word =
    tunnelNonce === null
      ? { link, isProven: false }
      : await acceptTunnel(client, { ...opening, tunnelNonce }, known);
  if (word === 'gone') letGo(client);
  else if (word !== null) {
    const reachesUntilMs = performance.now() + front.limits.leaderWaitMs;
    await placeOrRefuse(front, { client, startup, connection, reachesUntilMs, placesLost: 0, ...word });
  } else {
    front.warn(
      { address: client.remoteAddress },
      'a peer that claims to be a gateway of this cluster does not know the cluster secret',
    );
    front.told.note(false, errors.notOfThisCluster.sqlState);
    closeWithWords(client, [errorResponse('FATAL', errors.notOfThisCluster)], front.limits.lastWordsMs);
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
  if (error === null || isGone(arrival.client)) return;
  front.told.note(false, error.sqlState);
  closeWithWords(arrival.client, [errorResponse('FATAL', error)], front.limits.lastWordsMs);
}

async function cancel({ cancels, service }: Front, key: Buffer, forwarded: boolean): Promise<void> {
  const delivered = cancels.cancel(key);
  if (delivered !== null) return delivered;
  const now = service.service();
  if (!forwarded && now.kind === 'at') await cancels.forward(now, key);
}

/** Returns why the client cannot be served, or null. */
async function place(front: Front, arrival: Arrival): Promise<GatewayError | null> {
  if (front.statements !== null) return placeStatementClient(front, arrival, front.statements);
  const consistency = consistencyOf(arrival.startup);
  if ('value' in consistency) return errors.wrongReadSetting(consistency.name, consistency.value, readModes);
  if (consistency.mode !== 'leader') return placeReader(front, arrival, consistency);
  const { client, startup, connection } = arrival;
  const placement = await awaitService({
    service: front.service,
    tunnelled: startup.tunnelNonce !== null,
    waitMs: front.limits.leaderWaitMs,
    isGone: () => isGone(client),
  });
  if (isGone(client)) return null;
  if (placement.kind === 'nowhere') return placement.error;
  const reserved = placement.kind === 'here' ? placement.door.reservedUsers : [];
  const refused = admissible(startup, reserved) ?? (await connection.logIn(applicantOf(arrival)));
  if (refused !== null || isGone(client)) return refused;
  if (placement.kind === 'at') {
    const failed = await letInForLeader(front, arrival);
    return failed !== null || isGone(client) ? failed : passOn(front, arrival, placement);
  }
  const failed = await letIn(front, arrival, placement.door, errors.databaseDown);
  if (failed !== null || isGone(client)) return failed;
  const onLeft =
    startup.tunnelNonce === null
      ? (left: LeftSession): void => keep(front, arrival, { place: placement, upstream: left.upstream, left })
      : null;
  const takesDoubts = startup.tunnelNonce !== null;
  openSession(
    front,
    { client, startup, connection, applicant: applicantOf(arrival), takesDoubts, onLeft },
    placement,
  );
  return null;
}

/** Returns why the client cannot be served, or null. */
async function passOn(
  front: Front,
  arrival: Arrival,
  leader: Extract<Service, { kind: 'at' }>,
): Promise<GatewayError | null> {
  const { client } = arrival;
  const upstream = await reachLeader(front, arrival, leader);
  if (upstream === null) return isGone(client) ? null : place(front, arrival);
  if (upstream.code === 'failed') {
    if (performance.now() < arrival.reachesUntilMs) {
      await changeOrPoll(front.service, unreachableAgainMs);
      return isGone(client) ? null : place(front, arrival);
    }
    return errors.leaderUnreachable(`${leader.host}:${leader.port}`, upstream.reason);
  }
  keep(front, arrival, { place: leader, upstream: upstream.stream, left: null });
  return null;
}

/** Null: the client has gone, or another leads. */
async function reachLeader(
  front: Front,
  arrival: Arrival,
  leader: Extract<Service, { kind: 'at' }>,
): Promise<Upstream | null> {
  const { client } = arrival;
  const inVain = new AbortController();
  const giveUp = (): void => inVain.abort();
  const look = (now: Service): void => {
    if (!isSamePlace(leader, now)) giveUp();
  };
  const stopLooking = front.service.onServiceChange(look);
  client.on('close', giveUp);
  look(front.service.service());
  const upstream = await upstreamOpener(front, arrival)(leader, inVain.signal);
  stopLooking();
  client.off('close', giveUp);
  if (!inVain.signal.aborted && !isGone(client)) return upstream;
  if (upstream.code === 'open') upstream.stream.destroy();
  return null;
}

/** Whom it was to be served by has gone before it said anything. Never rejects. */
async function placeAnew(front: Front, arrival: Arrival, gone: Place): Promise<void> {
  const { client } = arrival;
  const isSame = isSamePlace(gone, front.service.service());
  const isLate = isSame && performance.now() >= arrival.reachesUntilMs;
  arrival.placesLost += 1;
  if (isLate || arrival.placesLost >= front.limits.placesMax) {
    front.told.note(false, errors.leaderWentAway.sqlState);
    closeWithWords(client, [errorResponse('FATAL', errors.leaderWentAway)], front.limits.lastWordsMs);
    return;
  }
  if (isSame) await changeOrPoll(front.service, unreachableAgainMs);
  // It may have ended the connection while it was served.
  if (isGone(client) || client.readableEnded) letGo(client);
  else await placeOrRefuse(front, arrival);
}

/** A client that is served elsewhere, or is to be. */
function keep(
  front: Front,
  arrival: Arrival,
  from: Pick<KeptClientOptions, 'place' | 'upstream' | 'left'>,
): void {
  const { client, startup, connection } = arrival;
  let forgetKey = (): void => {};
  const kept = new KeptClient({
    ...from,
    client,
    startup,
    isProven: arrival.isProven,
    limits: front.limits,
    service: front.service,
    open: upstreamOpener(front, arrival),
    turns: front.moves,
    share: front.share,
    budget: front.keptBudgets.of(roleOf(startup)),
    functions: front.functionLooks,
    onAuthenticated: () => {
      // The leader's gateway has seen to it, if this one has not.
      arrival.isProven = true;
      return connection.becomeClient();
    },
    onWords: (words) => front.told.noteWords(connection.isClient, words),
    onKey: (key) => {
      forgetKey = front.cancels.addMoving(key, () => kept.cancelTarget);
    },
    onRepeat: (repeats) => {
      front.repeats[repeats ? 'repeated' : 'notRepeated'] += 1;
    },
    onUnheard: () => {
      front.served.delete(client);
      leave();
      void placeAnew(front, arrival, from.place);
    },
  });
  const key = from.left?.key ?? null;
  if (key !== null) forgetKey = front.cancels.addMoving(key, () => kept.cancelTarget);
  const stopWatching = front.idleWatch.watch(kept);
  function leave(): void {
    forgetKey();
    stopWatching();
  }
  client.on('close', leave);
  const served: Served = {
    kind: 'tunnel',
    client,
    onService: (service) => kept.onService(service),
    end: (error, options) => kept.end(error, options),
  };
  serve(front, served);
  // It may have moved in this very moment.
  kept.onService(front.service.service());
}
