/** What the gateway itself tells clients whose statements travel, with true SQLSTATEs. */
import type { GatewayError } from '../../../pgwire/backend-messages.ts';

export const flushBehindExecute: GatewayError = {
  sqlState: '0A000',
  message: 'Flush after Execute is not supported under payload: statements',
  hint: 'Send a Sync instead.',
};

export const queryBehindExtended: GatewayError = {
  sqlState: '0A000',
  message: 'a Query message before the Sync of preceding extended-protocol messages is not supported',
  hint: 'Send a Sync first.',
};

export const ownSettingRefused: GatewayError = {
  sqlState: '0A000',
  message: 'settings of the gateway (barista.*) are not supported under payload: statements',
  hint: 'Reads are always linearizable. Requests have no ids here: when the outcome is unknown, check your data before you retry.',
};

export function requestTooLong(bytesMax: number): GatewayError {
  return {
    sqlState: '54000',
    message: `a request of more than ${bytesMax} bytes is too large for one operation`,
    hint: 'Split the statement, or send its data by COPY.',
  };
}

export function tooManyNotifications(bytesMax: number): GatewayError {
  return {
    sqlState: '53200',
    message: `terminating connection: more than ${bytesMax} bytes of notifications are waiting`,
    hint: 'Send fewer or shorter notifications in one request, and read them.',
  };
}

/** It was not ordered, and never will be. */
export function notOrdered(reason: string): GatewayError {
  return {
    sqlState: '57P03',
    message: 'the statement was not executed: the replicas could not agree on it',
    detail: reason,
    hint: 'Try again shortly, or connect to another replica.',
  };
}

/** It may be ordered yet. */
export function orderUnknown(reason: string): GatewayError {
  return {
    sqlState: '08007',
    message: 'outcome unknown: the replicas did not agree on the statement in time',
    detail: reason,
    hint: 'A majority of the replicas is needed. Check whether the statement took effect before you retry.',
  };
}
