/** Results that the executor itself makes. Pure. */
import { errorResponse, readErrorFields, readyForQuery } from '../../pgwire/backend-messages.ts';
import type { TransactionStatus } from '../../pgwire/message-types.ts';
import type { ClientSession } from './client-session.ts';
import type { OperationResult } from './executor.ts';
import type { RequestOperation } from './operation.ts';

interface ToldError {
  readonly sqlState: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
}

export function nothingAnswered(status: TransactionStatus | 'closed'): OperationResult {
  return { outcome: 'executed', answer: Buffer.alloc(0), status, digest: null };
}

/** The session ends, or is none. */
export function closedAnswer(error: ToldError): OperationResult {
  const answer = errorResponse('FATAL', error);
  return { outcome: 'executed', answer, status: 'closed', digest: `closed ${error.sqlState}` };
}

/** PostgreSQL has ended the session with these words. */
export function endedAnswer(answer: Buffer): OperationResult {
  const sqlState = readErrorFields(answer).get('C') ?? '';
  return { outcome: 'executed', answer, status: 'closed', digest: `closed ${sqlState}` };
}

export function failure({ status }: Pick<ClientSession, 'status'>, error: ToldError): OperationResult {
  const answer = Buffer.concat([errorResponse('ERROR', error), readyForQuery(status)]);
  return { outcome: 'executed', answer, status, digest: `error ${error.sqlState} ${status}` };
}

/** A request that comes again. */
export function staleAnswer(session: ClientSession, { seq }: RequestOperation): OperationResult {
  const { last } = session;
  if (seq === session.seq && last !== null && last.outcome !== 'notKept')
    return { ...last, outcome: 'repeated', digest: null };
  const error = {
    sqlState: '08007',
    message: 'the request was executed, but its answer is no longer known',
  };
  return { ...failure(session, error), outcome: 'notKept', digest: null };
}

export const waitErrors = {
  circle: { sqlState: '40P01', message: 'deadlock detected' },
  full: { sqlState: '53400', message: 'too many requests wait for transactions of other sessions' },
} as const;

export const lastsTooLong = {
  sqlState: '57014',
  message: 'canceling the request at all replicas',
  detail: 'It took too long, crashed PostgreSQL, or exceeded the resources of a replica.',
  hint: "Split the work: bounds.statementSecondsMax in the configuration is the limit. The replicas' logs report a crash.",
} as const;

export const cancelledByItself = {
  sqlState: '57014',
  message: 'canceling statement due to user request',
} as const;

export const cancelledError = {
  sqlState: '25P03',
  message: 'the transaction was rolled back because others waited for it',
} as const;
