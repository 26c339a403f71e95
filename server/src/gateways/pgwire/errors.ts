/** The errors that the gateway itself sends to SQL clients: one table, with true SQLSTATEs. */
import type { GatewayError } from './codec/backend-messages.ts';

export const notLeaderAnyMore: GatewayError = {
  sqlState: '57P01',
  message: 'terminating connection: this replica is no longer the leader; reconnect',
};

export const shuttingDown: GatewayError = {
  sqlState: '57P01',
  message: 'terminating connection: this replica is shutting down; reconnect',
};

export const databaseWentAway: GatewayError = {
  sqlState: '57P02',
  message: "terminating connection: this replica's PostgreSQL went away; reconnect",
};

export const outcomeUnknown = (reason: string): GatewayError => ({
  sqlState: '08007',
  message: 'the outcome of the transaction is unknown: leadership was lost while it was being agreed on',
  detail: reason,
  hint: 'Reconnect and check whether it took effect before you repeat it.',
});

export const committedButEnding: GatewayError = {
  sqlState: '57P01',
  message:
    'terminating connection: the transaction is committed, but this session could not be kept; reconnect',
};

export const superseded = (reason: string): GatewayError => ({
  sqlState: '40001',
  message: 'the transaction was not committed: leadership changed while it was being agreed on',
  detail: reason,
  hint: 'Reconnect and run the transaction again.',
});

const slotText = (slot: number | null): string => (slot === null ? '' : `, in slot ${slot}`);

/** A notice, with success. */
export const committedBefore = (slot: number | null): GatewayError => ({
  sqlState: 'RQ001',
  message: `the transaction of this request_id had been committed before${slotText(slot)}: nothing was done again`,
});

export const rowsNotKept = (slot: number | null): GatewayError => ({
  sqlState: 'RQ001',
  message: `the transaction of this request_id had been committed before${slotText(slot)}: nothing was done again`,
  detail: 'The rows that it returned then are not kept.',
  hint: 'Take it for done, and read what you need.',
});

export const overloaded = (reason: string): GatewayError => ({
  sqlState: '53000',
  message: 'the transaction was not committed: too much is waiting to be agreed on',
  detail: reason,
  hint: 'Run the transaction again later.',
});

export const notProposed = (reason: string): GatewayError => ({
  sqlState: '57P01',
  message:
    'terminating connection: the transaction was not committed, for this replica is no longer the leader; reconnect',
  detail: reason,
});

export const noLeader = (reason: string): GatewayError => ({
  sqlState: '57P03',
  message: 'the database is not accepting connections now: no leader is known',
  detail: reason,
  hint: 'Try again shortly, or connect to another replica.',
});

export const databaseDown: GatewayError = {
  sqlState: '57P03',
  message: "the database is not accepting connections now: this replica's PostgreSQL is down",
  hint: 'Try again shortly, or connect to another replica.',
};

export const leaderUnreachable = (where: string, reason: string): GatewayError => ({
  sqlState: '08001',
  message: `this replica cannot reach the leader at ${where}`,
  detail: reason,
});

export const tooManyClients: GatewayError = { sqlState: '53300', message: 'sorry, too many clients already' };

export const startupTimedOut: GatewayError = {
  sqlState: '08P01',
  message: 'start-up and authentication took too long',
};

export const protocolViolation = (message: string): GatewayError => ({ sqlState: '08P01', message });

export const reservedUser = (user: string): GatewayError => ({
  sqlState: '28000',
  message: `role "${user}" is not permitted to log in through the gateway`,
});

export const replicationRefused: GatewayError = {
  sqlState: '0A000',
  message: 'replication connections are not served',
  hint: 'The replicas agree among themselves; connect without the "replication" parameter.',
};

export const functionCallRefused: GatewayError = {
  sqlState: '0A000',
  message: 'the function-call message of the protocol is not supported',
  hint: 'Use SELECT function(...).',
};

export const unsafeStrings: GatewayError = {
  sqlState: '0A000',
  message: 'terminating connection: standard_conforming_strings must stay on',
  hint: "Write E'...' for strings with backslash escapes.",
};

export const unsafeEncoding = (encoding: string): GatewayError => ({
  sqlState: '0A000',
  message: `terminating connection: client_encoding ${encoding} is not supported`,
  hint: 'Its characters may contain bytes that read as SQL. Use UTF8.',
});

export const executeRefused = (name: string): GatewayError => ({
  sqlState: '0A000',
  message: `EXECUTE of prepared statement "${name}" is not supported: it is not a query`,
  hint: 'Send that statement itself.',
});

export const reservedName = (name: string): GatewayError => ({
  sqlState: '42939',
  message: `prepared statement name "${name}" is reserved`,
});

export const tooManyNames = (what: string, limit: number): GatewayError => ({
  sqlState: '53400',
  message: `more than ${limit} ${what} in one session`,
});

export const notUnderstood = (message: string): GatewayError => ({
  sqlState: '0A000',
  message: `the gateway does not understand this statement: ${message}`,
});

export const savepointOutsideBlock: GatewayError = {
  sqlState: '25P01',
  message: 'savepoint commands can only be used in transaction blocks',
};

export const holdCursorRefused: GatewayError = {
  sqlState: '0A000',
  message: 'a cursor WITH HOLD cannot be declared in a transaction that writes',
  hint: 'Declare it outside a transaction block, or without HOLD.',
};

export const rowTooLarge = (bytes: number, limit: number): GatewayError => ({
  sqlState: '54000',
  message: `a row of ${bytes} bytes cannot be replicated: the limit is ${limit} bytes`,
});

/** PostgreSQL's own warning, sent where our wrapper hides that there was no transaction block. */
export const noTransactionInProgress: GatewayError = {
  sqlState: '25P01',
  message: 'there is no transaction in progress',
};

export const chainOutsideBlock = (command: 'COMMIT' | 'ROLLBACK'): GatewayError => ({
  sqlState: '25P01',
  message: `${command} AND CHAIN can only be used in transaction blocks`,
});

export const statementTooLong = (limit: number): GatewayError => ({
  sqlState: '54000',
  message: `a statement of this kind cannot be prepared by the protocol if it is longer than ${limit} bytes`,
});

/** The connection to PostgreSQL is gone: PostgreSQL closed it, or what it sent could not be taken. */
export const sessionLost = (cause: Error | null): GatewayError =>
  cause === null ? databaseWentAway : { ...databaseWentAway, detail: cause.message };
