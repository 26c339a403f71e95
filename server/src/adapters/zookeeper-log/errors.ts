/** Turns what ZooKeeper's client throws into the port's errors. */
import { LogStoreError } from '../../ports/log-store.ts';
import { codeOf } from './client/protocol.ts';

export function asLogStoreError(error: unknown, doing: string): LogStoreError {
  if (error instanceof LogStoreError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return codeOf(error) === 'quotaExceeded'
    ? new LogStoreError('logFull', `no space left in ZooKeeper while ${doing}: ${reason}`, { cause: error })
    : new LogStoreError('logFailed', `${doing}: ${reason}`, { cause: error });
}

export function corrupt(path: string, reason: string): LogStoreError {
  return new LogStoreError('logCorrupt', `${path} in ZooKeeper: ${reason}`);
}
