/**
 * Takes in a client that wants to be answered by this replica's own PostgreSQL: the standby, or, where this replica leads, the primary.
 *
 * Responsible for: everything up to the moment at which bytes pass, and ending the session with the standby's life. At the primary it is a session like others, that reads only: what it is answered is linearizable.
 */
import type { ClientService, Service } from '../../../ports/client-service.ts';
import type { StandbyDoor } from '../../../ports/standby-reads.ts';
import type { GatewayError } from '../../../pgwire/backend-messages.ts';
import { freshnessOf, type ReadConsistency } from '../codec/read-consistency.ts';
import { readOnly } from '../codec/startup.ts';
import * as errors from '../errors.ts';
import { isGone } from '../login/authenticate.ts';
import { AnswerGate } from '../session/answer-gate.ts';
import { ReadingSession } from '../session/reading/reading-session.ts';
import { changeOrPoll, type Placement } from './await-service.ts';
import { letIn } from './let-in.ts';
import { admissible, applicantOf, type Arrival, type Front, openSession, serve } from './sessions.ts';

type Place = { readonly kind: 'standby'; readonly door: StandbyDoor } | Extract<Placement, { kind: 'here' }>;

/** Returns why the client cannot be served, or null. */
export async function placeReader(
  front: Front,
  arrival: Arrival,
  consistency: ReadConsistency,
): Promise<GatewayError | null> {
  const { client, startup, connection } = arrival;
  const { service, limits } = front;
  const found = await awaitPlace(service, limits.leaderWaitMs, () => isGone(client));
  if (isGone(client)) return null;
  if (found === null) return errors.standbyDown;
  const refused =
    admissible(startup, found.door.reservedUsers) ?? (await connection.logIn(applicantOf(arrival)));
  if (refused !== null || isGone(client)) return refused;
  if (found.kind === 'here') {
    const failed = await letIn(front, arrival, found.door, errors.databaseDown);
    if (failed !== null || isGone(client)) return failed;
    openSession(
      front,
      {
        client,
        startup: readOnly(startup),
        connection,
        applicant: applicantOf(arrival),
        takesDoubts: false,
        onLeft: null,
      },
      found,
    );
    return null;
  }
  // A role that was made a moment ago may log in, and one that is gone may not.
  const stale = await whyStale(front, found.door, consistency);
  if (stale !== null || isGone(client)) return stale;
  const failed = await letIn(front, arrival, found.door, errors.standbyDown);
  if (failed !== null || isGone(client)) return failed;
  openReadingSession(front, arrival, found.door, consistency);
  return null;
}

async function awaitPlace(
  service: ClientService,
  waitMs: number,
  isGone: () => boolean,
): Promise<Place | null> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const now: Service = service.service();
    const door = service.door();
    if (now.kind === 'here' && door !== null) return { kind: 'here', generation: now.generation, door };
    const standby = service.reads.standby();
    if (standby !== null) return { kind: 'standby', door: standby };
    if (performance.now() >= deadline || isGone()) return null;
    await changeOrPoll(service);
  }
}

async function whyStale(
  { service, limits }: Front,
  { life }: StandbyDoor,
  consistency: ReadConsistency,
): Promise<GatewayError | null> {
  const isBounded = consistency.mode === 'bounded';
  const waitMs = isBounded ? limits.boundedWaitMs : limits.readWaitMs;
  const currency = await service.reads.beginRead(life, freshnessOf(consistency), waitMs);
  switch (currency.code) {
    case 'current':
      return null;
    case 'over':
      return errors.standbyDown;
    case 'noAnswer':
    case 'behind':
      return isBounded
        ? errors.tooStale(consistency.stalenessMaxMs, currency.staleMs)
        : errors.notCurrent(currency.code, waitMs);
    default:
      return currency satisfies never;
  }
}

function openReadingSession(
  front: Front,
  { client, startup, connection }: Arrival,
  door: StandbyDoor,
  consistency: ReadConsistency,
): void {
  let forgetKey = (): void => {};
  let key: Buffer | null = null;
  const { reads } = front.service;
  const session = new ReadingSession({
    client,
    door,
    startup,
    consistency,
    reads,
    gate: gateOf(front, door.life),
    limits: front.limits,
    share: front.share,
    onAuthenticated: () => connection.becomeClient(),
    onLetGo: connection.reachPostgres(),
    onFatal: (sqlState) => front.told.note(connection.isClient, sqlState),
    onWords: (words) => front.told.noteWords(connection.isClient, words),
    onKey: (given) => {
      key = given;
      forgetKey = front.cancels.add(given, {
        way: door.socketPath,
        isOwed: () => session.onCancelRequest(),
      });
    },
    onCancel: () => {
      if (key !== null) void front.cancels.cancel(key);
    },
  });
  function onChange(): void {
    if (reads.standby()?.life !== door.life) session.end(errors.standbyWentAway);
  }
  const stopWatching = reads.onStandbyChange(onChange);
  client.on('close', () => {
    forgetKey();
    stopWatching();
  });
  serve(front, { kind: 'read', client, onService: () => {}, end: (error) => session.end(error) });
  // It may have ended while the client waited for its turn.
  onChange();
}

/** All sessions of one life of the standby share a gate. */
function gateOf(front: Front, life: number): AnswerGate {
  const { reads } = front.service;
  if (front.readGate?.generation !== life) {
    const mayAnswer = (of: number): boolean => reads.mayTell(of);
    const awaitAnswer = (of: number): Promise<boolean> => reads.awaitTold(of, front.limits.readWaitMs);
    front.readGate = new AnswerGate({ mayAnswer, awaitAnswer }, life);
  }
  return front.readGate;
}
