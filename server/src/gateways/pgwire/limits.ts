/** Every bound of the SQL gateway in one place. */
export interface PgwireLimits {
  /** Clients that have logged in. */
  readonly clientsMax: number;
  /** Those of one role, so that others find a place. */
  readonly clientsPerRoleMax: number;
  /** Those from one address. */
  readonly clientsPerAddressMax: number;
  /** Connections that have not said yet what they want: beyond it the oldest of the source that has most is closed. */
  readonly openingMax: number;
  readonly firstPacketTimeoutMs: number;
  /** How long agreeing on TLS may take. */
  readonly handshakeTimeoutMs: number;
  /** So many may be begun at once; then one in each `handshakeEveryMs`. */
  readonly handshakesAtOnce: number;
  readonly handshakeEveryMs: number;
  /** How often it is looked whether there are new certificates. */
  readonly certificateLookMs: number;
  /** Connections that have said who they are, and have not proved it: beyond it the oldest of the source that has most is refused. Each costs a few kilobytes, and nothing at PostgreSQL. */
  readonly provingMax: number;
  /** Connections that hear why they are refused, beside all that may be here. With more, the next ones are closed without a word. */
  readonly leavingMax: number;
  /** Clients that have proved who they are, and whose session begins. Each has a connection to PostgreSQL, or to the leader. */
  readonly enteringMax: number;
  /** So many more than `clientsMax` may have a connection to PostgreSQL while sessions begin or end: it has places for them. */
  readonly enteringBeyondMax: number;
  /** Those of one role that have gone while their session began, and that PostgreSQL has not let go of: with so many nobody of that role is let in. */
  readonly lingeringPerRoleMax: number;
  /** While there are such, PostgreSQL is asked so often for those that wait for a lock, and those that have done so for `slowEntryMs` are ended. */
  readonly lingeringLookMs: number;
  /** How long logging in may take, from the startup packet on. */
  readonly authenticationTimeoutMs: number;
  /** A client whose session has not begun for so long is ended when others wait for their turn. */
  readonly slowEntryMs: number;
  /** How long a new client waits for a leader, or for its PostgreSQL. */
  readonly leaderWaitMs: number;
  /** Longest message that is passed on, header included: PostgreSQL's own bound. Messages are never held whole. */
  readonly frameBytesMax: number;
  /** Longest message of a session that names its transactions: there messages are held whole. */
  readonly namedFrameBytesMax: number;
  /** Longest request where statements are what travels, the data of a COPY among them. */
  readonly statementBytesMax: number;
  /** CancelRequests that are being delivered at the same time. */
  readonly cancelsMax: number;
  /** How long the answer of a leader that has been replaced is waited for by a client tunnelled to it. */
  readonly tunnelGraceMs: number;
  /** How long a client whose leader went away in the middle of a commit waits for what became of it. */
  readonly outcomeWaitMs: number;
  /** An answer that takes longer than this is late: PostgreSQL is asked for the transaction's id. */
  readonly lateMs: number;
  /** How long a follower's gateway waits until its standby is current, to ask it about a role; then it leaves that to the leader's. */
  readonly loginReadMs: number;
  /** How long a linearizable read at a follower waits until the standby is current, and how long what it has found waits until the leader shows it. */
  readonly readWaitMs: number;
  /** The same of a bounded one whose standby is too stale. */
  readonly boundedWaitMs: number;
  /** How long a client may take to read its last words. */
  readonly lastWordsMs: number;
  /** How long a client's connection outlives a leader without another one that takes it. */
  readonly keepWaitMs: number;
  /** How long one attempt may take to log it in there and to restore its session. */
  readonly moveLogInMs: number;
  /** Attempts of one move whose connection was lost, or whose process ended. */
  readonly brokenLogInsMax: number;
  /** Moves of one client within `movesWithinMs` between which none of its requests was answered. */
  readonly movesUnansweredMax: number;
  readonly movesWithinMs: number;
  /** Leaders that a new client is passed on to, if each of them goes away before it has said anything. */
  readonly placesMax: number;
  /** Clients that do so at the same time. */
  readonly movesMax: number;
  /** Requests of one client that are not answered: with more nothing is read from it. */
  readonly unansweredMax: number;
  /** What is kept of a client's requests that are not answered. */
  readonly keptBytesMax: number;
  /** What is kept of its prepared statements. */
  readonly preparedBytesMax: number;
  /** Both, of all clients. */
  readonly keptBytesInAllMax: number;
  /** A session that is idle for so long may be asked what it has, and how often at most. */
  readonly idleLookMs: number;
  readonly idleQuestionEveryMs: number;
  /** How often it is looked at the functions of a database whose kept sessions are in use, and how long a look waits until it has all that any client knew. */
  readonly functionsLookMs: number;
  readonly functionsWaitMs: number;
}

const MiB = 1_048_576;

export const defaultLimits: PgwireLimits = {
  clientsMax: 500,
  clientsPerRoleMax: Infinity,
  clientsPerAddressMax: Infinity,
  openingMax: 2_000,
  firstPacketTimeoutMs: 20_000,
  handshakeTimeoutMs: 10_000,
  handshakesAtOnce: 50,
  handshakeEveryMs: 5,
  certificateLookMs: 5_000,
  provingMax: 3_000,
  leavingMax: 64,
  enteringMax: 64,
  enteringBeyondMax: 4,
  lingeringPerRoleMax: 16,
  lingeringLookMs: 1_000,
  authenticationTimeoutMs: 60_000,
  slowEntryMs: 3_000,
  leaderWaitMs: 5_000,
  frameBytesMax: 1024 * MiB,
  namedFrameBytesMax: 4 * MiB,
  statementBytesMax: 2 * MiB,
  cancelsMax: 100,
  tunnelGraceMs: 1_000,
  outcomeWaitMs: 15_000,
  lateMs: 100,
  loginReadMs: 1_000,
  readWaitMs: 5_000,
  boundedWaitMs: 1_000,
  lastWordsMs: 5_000,
  keepWaitMs: 30_000,
  moveLogInMs: 5_000,
  brokenLogInsMax: 10,
  movesUnansweredMax: 20,
  movesWithinMs: 60_000,
  placesMax: 5,
  movesMax: 32,
  unansweredMax: 256,
  keptBytesMax: MiB,
  preparedBytesMax: MiB,
  keptBytesInAllMax: 128 * MiB,
  idleLookMs: 1_000,
  idleQuestionEveryMs: 60_000,
  functionsLookMs: 5_000,
  functionsWaitMs: 5_000,
};
