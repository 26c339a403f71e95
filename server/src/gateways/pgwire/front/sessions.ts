/**
 * What every way into the gateway shares: who may come in, a session of the leader's for a client, and who is being served.
 *
 * Responsible for: nothing of how a connection begins; that is reception.ts.
 */
import type { Socket } from 'node:net';
import type { SessionKind } from '../../../api/measures.ts';
import type { Duplex } from 'node:stream';
import type { ClientService, Service } from '../../../ports/client-service.ts';
import type { GatewayError } from '../../../pgwire/backend-messages.ts';
import type { StatementSessions } from '../../../ports/statement-sessions.ts';
import { databaseOf, isReadable, roleOf, type StartupMessage, startupParameter } from '../codec/startup.ts';
import * as errors from '../errors.ts';
import type { PgwireLimits } from '../limits.ts';
import type { AccessRules } from '../login/access-rules.ts';
import type { ClientLink } from '../login/client-link.ts';
import type { GatewayKeys } from '../login/keys.ts';
import type { ClientTls } from '../tls/client-tls.ts';
import { AnswerGate } from '../session/answer-gate.ts';
import type { LateWatch } from '../session/late-watch.ts';
import type { RequestDatabases } from '../session/named/request-databases.ts';
import { Session } from '../session/session.ts';
import type { FunctionLooks } from '../kept/function-looks.ts';
import type { IdleWatch } from '../kept/idle-watch.ts';
import type { KeptBudgets } from '../kept/kept-budget.ts';
import type { LeftSession } from '../kept/left-session.ts';
import type { Turns } from '../kept/turns.ts';
import type { ThreadShare } from '../session/thread-share.ts';
import type { Admission, Applicant, Connection } from './admission.ts';
import type { Placement } from './await-service.ts';
import { cancelSession } from './cancel-session.ts';
import type { CancelRegistry } from './cancel-registry.ts';
import type { LeftProcesses } from './left-processes.ts';
import type { ToldErrors } from './told-errors.ts';
import type { VouchedLinks } from './vouched-links.ts';

/** `pid`: of PostgreSQL's process; 0: not known yet. */
export interface ServedBackend extends Omit<Applicant, 'isProven'> {
  pid: number;
  readonly database: string;
}

/** A client's connection that is being served: here, or by the leader. */
export interface Served {
  readonly kind: SessionKind;
  readonly client: Duplex;
  /** Of a session with this replica's primary, once it has begun. */
  readonly backend?: ServedBackend;
  onService(service: Service): void;
  end(error: GatewayError, options?: { readonly atOnce?: boolean }): void;
}

/** What all connections of a gateway share. */
export interface Front {
  readonly service: ClientService;
  /** Where statements are what travels; null: WAL is. */
  readonly statements: StatementSessions | null;
  readonly info: (fields: object, message: string) => void;
  readonly warn: (fields: object, message: string) => void;
  readonly access: AccessRules;
  readonly keys: GatewayKeys;
  /** Null: it is not offered. */
  readonly tls: ClientTls | null;
  readonly limits: PgwireLimits;
  readonly admission: Admission;
  readonly left: LeftProcesses;
  readonly cancels: CancelRegistry;
  readonly late: LateWatch;
  readonly requestDatabases: RequestDatabases;
  /** Clients that go to another leader. */
  readonly moves: Turns;
  /** Of the thread, for what kept clients and their upstreams say. */
  readonly share: ThreadShare;
  readonly keptBudgets: KeptBudgets;
  readonly idleWatch: IdleWatch;
  readonly functionLooks: FunctionLooks;
  readonly vouched: VouchedLinks;
  readonly sockets: Set<Socket>;
  /** By whom they speak with. Whoever serves hears when nothing more comes from its client. */
  readonly served: Map<Duplex, Served>;
  readonly told: ToldErrors;
  gate: AnswerGate;
  answersHeld: number;
  /** Requests that lost their leader, and were executed again at another one, or not. */
  readonly repeats: { repeated: number; notRepeated: number };
  /** Of what is read at the standby; null: nothing was. */
  readGate: AnswerGate | null;
}

export interface Arrival {
  readonly client: Socket;
  readonly link: ClientLink;
  /** Plain. */
  readonly startup: StartupMessage;
  readonly connection: Connection;
  /** The client has proved who it is, or need not. */
  isProven: boolean;
  /** How many leaders it was passed on to that went away before they had said anything. */
  placesLost: number;
  /** By `performance.now()`: for so long a leader that cannot be reached is tried again, since it may be about to be replaced. */
  readonly reachesUntilMs: number;
}

export function applicantOf({ startup, link, isProven }: Arrival): Applicant {
  return { address: link.address, role: roleOf(startup), isProven };
}

export function admissible(startup: StartupMessage, reserved: readonly string[]): GatewayError | null {
  const replication = startupParameter(startup, 'replication')?.toLowerCase();
  if (replication !== undefined && !['false', 'off', 'no', '0'].includes(replication)) {
    return errors.replicationRefused;
  }
  const user = startupParameter(startup, 'user');
  if (user === undefined || user === '') return errors.noUserName;
  // Two that PostgreSQL tells apart would be one to whoever reads them as UTF-8.
  if (!isReadable(startup)) return errors.unreadableName;
  return reserved.includes(user) ? errors.reservedUser(user) : null;
}

/** A client that has come to where it is served, by a socket or through another part of this gateway. */
export interface Guest {
  readonly client: Duplex;
  readonly startup: StartupMessage;
  readonly connection: Pick<Connection, 'becomeClient' | 'isClient' | 'reachPostgres'>;
  readonly applicant: Pick<Applicant, 'role' | 'address'>;
  /** What is at its other end is a gateway, which is told of transactions whose outcome may come into doubt. */
  readonly takesDoubts: boolean;
  /** Leadership is handed over: the client is to go on with the next leader. Null: its session ends. */
  readonly onLeft: ((session: LeftSession) => void) | null;
}

export function openSession(
  front: Front,
  guest: Guest,
  placement: Extract<Placement, { kind: 'here' }>,
): void {
  const { client, startup, connection } = guest;
  const { generation, door } = placement;
  const { socketPath } = door;
  const { role, address } = guest.applicant;
  const backend: ServedBackend = { pid: 0, role, address, database: databaseOf(startup) };
  let forgetKey = (): void => {};
  const letGo = connection.reachPostgres();
  const session = new Session({
    client,
    socketPath,
    startup,
    takesDoubts: guest.takesDoubts,
    service: front.service,
    gate: gateOf(front, generation),
    requestDatabases: front.requestDatabases,
    functions: guest.onLeft === null ? null : front.functionLooks,
    limits: front.limits,
    share: front.share,
    onAuthenticated: () => connection.becomeClient(),
    onLetGo: (running) => {
      if (running === null) letGo();
      else front.left.awaitEnd(running, backend, letGo);
    },
    onFatal: (sqlState) => front.told.note(connection.isClient, sqlState),
    onWords: (words) => front.told.noteWords(connection.isClient, words),
    onKey: (key) => {
      backend.pid = key.readUInt32BE(0);
      forgetKey = front.cancels.add(key, {
        way: () => cancelSession(session, front.service, generation),
        isOwed: () => session.tracker.outstanding,
      });
    },
    onLeft:
      guest.onLeft === null
        ? null
        : (left) => {
            client.off('close', forget);
            forget();
            front.served.delete(client);
            guest.onLeft?.(left);
          },
  });
  const stopWatching = front.late.watch(session, generation);
  const leave = front.service.enter(generation);
  function forget(): void {
    forgetKey();
    stopWatching();
    leave();
  }
  client.on('close', forget);
  function onService(service: Service): void {
    if (service.kind === 'nowhere' && service.drains === generation) session.drain(leave);
    else if (service.kind !== 'here' || service.generation !== generation)
      session.end(errors.notLeaderAnyMore);
  }
  const served: Served = {
    kind: 'leader',
    client,
    backend,
    onService,
    end: (error, options) => session.end(error, options),
  };
  serve(front, served);
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

export function serve(front: Front, served: Served): void {
  const { client } = served;
  front.served.set(client, served);
  client.on('close', () => front.served.delete(client));
  if (client.destroyed) front.served.delete(client);
}
