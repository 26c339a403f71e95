/** What the gateway itself tells clients whose statements travel, with true SQLSTATEs. */
import type { GatewayError } from '../../../pgwire/backend-messages.ts';

export const flushBehindExecute: GatewayError = {
  sqlState: '0A000',
  message: 'a Flush behind an Execute is not served where statements are replicated',
  hint: 'Send a Sync, which ends what is agreed on as one operation.',
};

export const queryBehindExtended: GatewayError = {
  sqlState: '0A000',
  message: 'a Query behind messages of the extended protocol that no Sync has ended is not served',
  hint: 'Send a Sync ahead of it.',
};

export const ownSettingRefused: GatewayError = {
  sqlState: '0A000',
  message: 'settings of the gateway (barista.*) are not served where statements are replicated',
  hint: 'Reads are linearizable; a request that may have been executed is not named, and has to be looked for.',
};

export function requestTooLong(bytesMax: number): GatewayError {
  return {
    sqlState: '54000',
    message: `a request of more than ${bytesMax} bytes cannot be agreed on as one operation`,
    hint: 'Split the statement, or send its data by COPY.',
  };
}

export function tooManyNotifications(bytesMax: number): GatewayError {
  return {
    sqlState: '53200',
    message: `terminating connection: more than ${bytesMax} bytes of notifications wait for it`,
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
    message: 'it is not known whether the statement was executed: the replicas have not agreed on it in time',
    detail: reason,
    hint: 'A majority of the replicas is needed. Look whether it has had effect before you try it again.',
  };
}
