/** The errors that the gateway itself sends to SQL clients: one table, with true SQLSTATEs. */
import type { GatewayError } from '../../pgwire/backend-messages.ts';
import type { AccessQuestion } from './login/access-rules.ts';

// ------------------------------------------------------------------------------------------- before there is a session

export function noLeader(reason: string): GatewayError {
  return {
    sqlState: '57P03',
    message: 'the database is not accepting connections now: no leader is known',
    detail: reason,
    hint: 'Try again shortly, or connect to another replica.',
  };
}

/** Where every replica serves its clients by itself, for whatever reason this one does not. */
export function notServing(reason: string): GatewayError {
  return {
    sqlState: '57P03',
    message: 'this replica is not accepting connections now',
    detail: reason,
    hint: 'Try again shortly, or connect to another replica.',
  };
}

export const databaseDown: GatewayError = {
  sqlState: '57P03',
  message: "the database is not accepting connections now: this replica's PostgreSQL is down",
  hint: 'Try again shortly, or connect to another replica.',
};

/** To a follower, or to what takes itself for one. */
export const notOfThisCluster: GatewayError = {
  sqlState: '28000',
  message: 'this gateway accepts clients only from gateways that know the cluster secret',
  hint: 'Give all replicas the same clusterSecret.',
};

export function leaderUnreachable(where: string, reason: string): GatewayError {
  return {
    sqlState: '08001',
    message: `this replica cannot reach the leader at ${where}`,
    detail: reason,
  };
}

export const tooManyClients: GatewayError = { sqlState: '53300', message: 'sorry, too many clients already' };

export function tooManyOfRole(role: string, max: number): GatewayError {
  return {
    sqlState: '53300',
    message: `too many connections for role "${role}"`,
    detail: `A replica takes ${max} clients of one role.`,
    hint: 'Close connections that are not needed, or raise bounds.clientsPerRoleMax.',
  };
}

export function tooManyOfAddress(address: string, max: number): GatewayError {
  return {
    sqlState: '53300',
    message: `too many connections from address "${address}"`,
    detail: `A replica takes ${max} clients from one address.`,
    hint: 'Close connections that are not needed, or raise bounds.clientsPerAddressMax.',
  };
}

export const tooManyLogins: GatewayError = {
  sqlState: '53300',
  message: 'too many connections are being authenticated',
  hint: 'Try again shortly.',
};

export function tooManyLingering(role: string): GatewayError {
  return {
    sqlState: '53300',
    message: `too many connections for role "${role}" are being ended`,
    detail:
      'Clients of this role disconnected during start-up, and PostgreSQL has not ended their sessions yet.',
    hint: 'Try again shortly. They may wait for a lock that all sessions of a database need: see pg_locks.',
  };
}

export const startupTimedOut: GatewayError = {
  sqlState: '08P01',
  message: 'start-up and authentication took too long',
};

export const noUserName: GatewayError = {
  sqlState: '28000',
  message: 'no PostgreSQL user name specified in startup packet',
};

export const unreadableName: GatewayError = {
  sqlState: '28000',
  message: 'the names of role and database must be in UTF-8',
};

export function reservedUser(user: string): GatewayError {
  return {
    sqlState: '28000',
    message: `role "${user}" is not permitted to log in through the gateway`,
  };
}

export function wrongPassword(role: string): GatewayError {
  return { sqlState: '28P01', message: `password authentication failed for user "${role}"` };
}

export function wrongCertificate(role: string): GatewayError {
  return { sqlState: '28000', message: `certificate authentication failed for user "${role}"` };
}

export function noRule(asked: AccessQuestion): GatewayError {
  return { sqlState: '28000', message: `no pgwire.access entry for ${whoAsks(asked)}` };
}

export function rejectedByRule(asked: AccessQuestion): GatewayError {
  return { sqlState: '28000', message: `pgwire.access rejects connection for ${whoAsks(asked)}` };
}

function whoAsks({ address, role, database, isEncrypted }: AccessQuestion): string {
  const encryption = isEncrypted ? 'SSL encryption' : 'no encryption';
  return `host "${address}", user "${role}", database "${database}", ${encryption}`;
}

export const replicationRefused: GatewayError = {
  sqlState: '0A000',
  message: 'replication connections are not served',
  hint: 'The replicas agree among themselves; connect without the "replication" parameter.',
};

export const protocolViolation = (message: string): GatewayError => ({ sqlState: '08P01', message });

export function internalError(error: unknown): GatewayError {
  return {
    sqlState: 'XX000',
    message: `internal error of the gateway: ${error instanceof Error ? error.message : String(error)}`,
  };
}

// --------------------------------------------------------------------------------------------- why a session has to end

export const handingOver: GatewayError = {
  sqlState: '57P01',
  message: 'terminating connection: leadership is handed over to another replica; reconnect',
};
export const notLeaderAnyMore: GatewayError = {
  sqlState: '57P01',
  message: 'terminating connection: this replica is no longer the leader; reconnect',
};

export const leaderWentAway: GatewayError = {
  sqlState: '57P01',
  message: 'terminating connection: the leader went away; reconnect',
};

export const shuttingDown: GatewayError = {
  sqlState: '57P01',
  message: 'terminating connection: this replica is shutting down; reconnect',
};

export const databaseWentAway: GatewayError = {
  sqlState: '57P02',
  message: "terminating connection: this replica's PostgreSQL went away; reconnect",
};

/** The session's own process crashed or was killed, with a request under way that may be the reason. */
export const backendEnded: GatewayError = {
  sqlState: '57P02',
  message: 'terminating connection: the server process of this session ended unexpectedly',
  hint: "The request in progress is not executed again. The leader's PostgreSQL log may tell why the process ended.",
};

/** Somebody has ended the session in the wait of its COMMIT, of which PostgreSQL says no more than a warning. In the words that it has for that at any other time. */
export const terminated: GatewayError = {
  sqlState: '57P01',
  message: 'terminating connection due to administrator command',
};

/** A request that was executed again has lost its leader again. */
export const leaderWentAwayAgain: GatewayError = {
  sqlState: '57P01',
  message: 'terminating connection: the leader went away again while it executed a repeated request',
  hint: 'The request is not executed a third time. Reconnect.',
};

/** The request is not executed again, whatever became of it. */
export function isFinal(reason: GatewayError): boolean {
  return [backendEnded, terminated, leaderWentAwayAgain].includes(reason);
}

/** The same, where a transaction was open, or one was running that certainly did not commit. */
export function nothingCommitted(error: GatewayError): GatewayError {
  return {
    ...error,
    detail: 'The transaction in progress was not committed.',
  };
}

// ---------------------------------------------------------------------------------- what became of a transaction in doubt

export function outcomeUnknown(reason: string): GatewayError {
  return {
    sqlState: '08007',
    message: 'the outcome of the transaction is unknown',
    detail: reason,
    hint: 'Reconnect and check whether it took effect before you repeat it.',
  };
}

/** Behind the answer. */
export const committedButEnding: GatewayError = {
  sqlState: '57P01',
  message:
    'terminating connection after a committed transaction: later statements were not executed; reconnect',
};

/** Instead of the answer, which is not known in full. */
export const committedUntold: GatewayError = {
  sqlState: 'RQ001',
  message: 'terminating connection: the transaction is committed, but its answer is lost',
  hint: 'Do not repeat it. Reconnect, and read what you need.',
};

export function committedUntoldFor(reason: GatewayError): GatewayError {
  return { ...committedUntold, detail: reason.message };
}

export const notCommitted: GatewayError = {
  sqlState: '40001',
  message:
    'terminating connection: the transaction was not committed, because its session at the leader was lost',
  hint: 'Reconnect and run the transaction again.',
};

// ------------------------------------------------------------------- the same, where the connection outlives the leader

export const notCommittedHere: GatewayError = {
  sqlState: '40001',
  message: 'the transaction was not committed, because its session at the leader was lost',
  hint: 'The connection is kept: roll back, and run the transaction again.',
};

export const committedAnswerLost: GatewayError = {
  sqlState: 'RQ001',
  message: 'the transaction is committed, but its answer was lost together with its session at the leader',
  hint: 'Do not repeat it. Read what you need.',
};

export const outcomeUnknownHere: GatewayError = {
  sqlState: '08007',
  message: 'the outcome of the transaction is unknown, because its session at the leader was lost',
  hint: 'The connection is kept: check whether it took effect before you repeat it.',
};

/** The next leader has what is committed, and nothing of these. */
export function withLoss(error: GatewayError, lost: readonly string[]): GatewayError {
  if (lost.length === 0) return error;
  return { ...error, detail: `This connection has lost ${lost.join(', ')}.` };
}

export function stateLost(lost: readonly string[]): GatewayError {
  return {
    sqlState: '55000',
    message: `this connection has lost ${lost.join(', ')}, together with its session at the leader: the statement was not executed`,
    hint: 'This is reported once. Create them again or reconnect; then repeat the statement.',
  };
}

// ------------------------------------------------------------------------------------------------ transactions with a name

/** A notice, with success. */
export const committedBefore: GatewayError = {
  sqlState: 'RQ001',
  message: 'the transaction with this request_id was already committed: nothing was executed again',
};

export const committedBeforeUntold: GatewayError = {
  ...committedBefore,
  detail: 'Its results are not kept.',
  hint: 'Do not repeat it. Read what you need.',
};

/** Ends the session. */
export const committedAnother: GatewayError = {
  ...committedBefore,
  message:
    'terminating connection: a transaction was committed under this request_id after one that failed, and may not be this one',
  detail: 'Nothing was executed again.',
  hint: 'Repeat the statements that took the name first and word by word; or check pg_barista.request_committed and do not repeat them.',
};

export const namedTransactionHidden: GatewayError = {
  sqlState: '0A000',
  message:
    'a transaction with a barista.request_id cannot begin or end inside a message of several statements',
  hint: 'Send BEGIN, COMMIT, ROLLBACK and PREPARE TRANSACTION as messages of their own.',
};

export function namedMessageTooLong(bytesMax: number): GatewayError {
  return {
    sqlState: '54000',
    message: `a message in a session with barista.request_id is longer than ${bytesMax} bytes`,
  };
}

export function requestsUnavailable(error: unknown): GatewayError {
  return {
    sqlState: '58000',
    message: 'terminating connection: transactions cannot be named in this database now',
    detail: error instanceof Error ? error.message : String(error),
  };
}

// ------------------------------------------------------------------------------------ sessions that read at a replica's own standby

export function wrongReadSetting(name: string, value: string, available: readonly string[]): GatewayError {
  const isTime = name.endsWith('staleness');
  return {
    sqlState: '22023',
    message: `invalid value for parameter "${name}": "${value}"`,
    hint: isTime
      ? 'A time of at least 1 ms, such as 500ms, 10s or 1min.'
      : `Available values: ${available.join(', ')}.`,
  };
}

export const readModeAtStart: GatewayError = {
  sqlState: '0A000',
  message:
    'barista.read_consistency cannot be changed between "leader" and the other values within a session',
  hint: "Connect with it: options='-c barista.read_consistency=snapshot' (or bounded, linearizable) in the connection string.",
};

export const readSettingHidden: GatewayError = {
  sqlState: '0A000',
  message:
    'barista.read_consistency and barista.max_staleness are followed only in a SET or RESET of their own',
  hint: "SET barista.read_consistency = 'snapshot' as a message of its own, outside of a transaction.",
};

export const readSettingInTransaction: GatewayError = {
  sqlState: '25001',
  message: 'barista.read_consistency and barista.max_staleness cannot be changed within a transaction',
};

export const standbyDown: GatewayError = {
  sqlState: '57P03',
  message: 'this replica cannot serve reads now: its PostgreSQL is starting, being copied, or about to lead',
  hint: 'Try again shortly, or connect to another replica.',
};

export const standbyWentAway: GatewayError = {
  sqlState: '57P01',
  message: "terminating connection: this replica's standby has stopped, or is about to lead; reconnect",
};

/** As PostgreSQL says it. */
export const readCancelled: GatewayError = {
  sqlState: '57014',
  message: 'canceling statement due to user request',
};

export function notCurrent(code: 'noAnswer' | 'behind', waitMs: number): GatewayError {
  return {
    sqlState: '57P03',
    message: 'this replica cannot answer a linearizable read now',
    detail:
      code === 'noAnswer'
        ? `No leader has answered within ${waitMs} ms.`
        : `Its standby did not catch up with the leader within ${waitMs} ms.`,
    hint: 'Try again, connect to another replica, or read with barista.read_consistency = snapshot.',
  };
}

/** It has been read, and is not told. */
export function notShown(waitMs: number): GatewayError {
  return {
    sqlState: '57P03',
    message: 'terminating connection: the result of a linearizable read could not be confirmed',
    detail: `No leader confirmed it within ${waitMs} ms. The session changed nothing.`,
    hint: 'Try again, connect to another replica, or read with barista.read_consistency = snapshot.',
  };
}

export function tooStale(stalenessMaxMs: number, staleMs: number | null): GatewayError {
  const known =
    staleMs === null ? 'Its age is unknown.' : `Its data may be ${(staleMs / 1000).toFixed(1)} s old.`;
  return {
    sqlState: '57P03',
    message: `the data of this replica may be older than barista.max_staleness (${stalenessMaxMs} ms)`,
    detail: `${known} It has not caught up with the leader, or cannot reach it.`,
    hint: 'Try again, connect to another replica, or allow more.',
  };
}
