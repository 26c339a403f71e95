/** The errors that the Thrift gateway itself tells: one table, with true SQLSTATEs. */
import { SqlError } from './sql/sql-error.ts';

export function noSuchConnection(): SqlError {
  return new SqlError({
    sqlState: '08003',
    message: 'there is no such connection at this replica',
    hint: 'Pass the Connection that open_connection has returned. It ends when it is not used for some time, and with the replica that has opened it: open another one.',
  });
}

/** Where statements travel, to a request that has a name: its session remembered names. */
export const namesGone = (): SqlError =>
  new SqlError({
    sqlState: 'RQ002',
    message: 'no replica has this connection any more, and the outcome of its last request is unknown',
    detail:
      'This request was not executed. If it was sent before, with this name, that may have taken effect.',
    hint: 'Open another connection. Look for what an earlier attempt was to do before it is repeated.',
  });

export const sessionEnded = (why: string): SqlError =>
  new SqlError({ sqlState: '08006', message: `the connection has ended: ${why}` });

export const outcomeUnknown = (): SqlError =>
  new SqlError({
    sqlState: '08007',
    message:
      'the outcome of the statement is unknown: the connection to the database broke in the middle of it',
    hint: 'Repeat it with the same client_id and seq_id on another connection: then it is not executed twice.',
  });

/** Where statements travel. */
export const notAgreed = (why: string): SqlError =>
  new SqlError({
    sqlState: '57P03',
    message: 'the request was not executed: the replicas could not agree on it',
    detail: why,
    hint: 'Try again shortly, or pass the same Connection to another replica.',
  });

export const perhapsAgreed = (why: string): SqlError =>
  new SqlError({
    sqlState: '08007',
    message: 'it is not known whether the request was executed: the replicas have not agreed on it in time',
    detail: why,
    hint: 'Repeat it with the same Connection and the same seq_id, at this replica or another: then it is not executed twice.',
  });

export const noDatabase = (why: string): SqlError =>
  new SqlError({
    sqlState: '08001',
    message: 'the SQL gateway of this replica cannot be reached',
    detail: why,
  });

export const loginTimedOut = (): SqlError =>
  new SqlError({ sqlState: '08001', message: 'logging in took too long' });

export const tooManyLogins = (): SqlError =>
  new SqlError({
    sqlState: '53300',
    message: 'too many connections are being opened',
    hint: 'Try again shortly.',
  });

export const tooManyWaiting = (): SqlError =>
  new SqlError({ sqlState: '53300', message: 'too many requests wait on this connection' });

export const passwordInTheClear = (): SqlError =>
  new SqlError({
    sqlState: '28000',
    message: 'a password is taken from another machine over TLS only',
    hint: 'Connect with TLS (pgwire.tls of the replica). thrift.plaintextPasswords lets passwords pass in the clear, for whoever reads the network.',
  });

export const unreadableParameter = (name: string): SqlError =>
  new SqlError({
    sqlState: '22023',
    message: `${name} of the connection's parameters is too long, or has a zero byte`,
  });

export const noUser = (): SqlError =>
  new SqlError({ sqlState: '28000', message: 'the parameters of the connection name no user' });

export const noQuery = (): SqlError =>
  new SqlError({ sqlState: '22004', message: 'the request has no query' });

export const zeroByte = (): SqlError =>
  new SqlError({ sqlState: '22021', message: 'invalid byte sequence for encoding "UTF8": 0x00' });

export const tooManyParameters = (count: number): SqlError =>
  new SqlError({ sqlState: '54000', message: `the query has ${count} parameters, and may have 65535` });

export const noTransaction = (method: string): SqlError =>
  new SqlError({ sqlState: '25P01', message: `${method}: there is no transaction in progress` });

export const transactionOpen = (): SqlError =>
  new SqlError({ sqlState: '25001', message: 'begin_txn: there is already a transaction in progress' });

export const rolledBack = (): SqlError =>
  new SqlError({
    sqlState: '25P02',
    message: 'commit_txn: the transaction had failed, and was rolled back',
  });

export const noCopy = (): SqlError =>
  new SqlError({ sqlState: '0A000', message: 'COPY from and to the client is not possible over Thrift' });

export function resultTooLong(bytesMax: number, hasTakenEffect: boolean): SqlError {
  return new SqlError({
    sqlState: '54000',
    message: `the result is longer than ${bytesMax} bytes`,
    detail: hasTakenEffect
      ? 'The statement was executed all the same, and what it did is part of its transaction.'
      : 'The statement was cancelled.',
    hint: 'Ask for it in parts: LIMIT, or a cursor (DECLARE, FETCH).',
  });
}

export const noMemory = (): SqlError =>
  new SqlError({
    sqlState: '53200',
    message: 'the answers of all connections take too much memory just now',
  });

export const nameTaken = (): SqlError =>
  new SqlError({
    sqlState: '22023',
    message: 'another request had this client_id and seq_id',
    hint: 'Each request that is not a repetition needs a seq_id of its own.',
  });

export const answerNotKept = (): SqlError =>
  new SqlError({
    sqlState: 'RQ001',
    message: 'the request of this client_id and seq_id had been executed before, and its answer is not kept',
  });

export const idleTooLong = (): SqlError =>
  new SqlError({ sqlState: '57P05', message: 'the connection was not used for too long, and has ended' });

export const shuttingDown = (): SqlError =>
  new SqlError({ sqlState: '57P01', message: 'the replica is shutting down' });

export const internal = (): SqlError =>
  new SqlError({ sqlState: 'XX000', message: 'the replica could not answer this request; its log says why' });
