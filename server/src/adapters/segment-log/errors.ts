/** Turns what the file system throws into the port's errors. */
import { LogStoreError } from '../../ports/log-store.ts';

const FULL_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

export function isFull(error: unknown): boolean {
  return FULL_CODES.has((error as NodeJS.ErrnoException | null)?.code ?? '');
}

export function asLogStoreError(error: unknown, doing: string): LogStoreError {
  if (error instanceof LogStoreError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return isFull(error)
    ? new LogStoreError('logFull', `no space left while ${doing}: ${reason}`, { cause: error })
    : new LogStoreError('logFailed', `${doing}: ${reason}`, { cause: error });
}

export function corrupt(file: string, offset: number, slot: number | null, reason: string): LogStoreError {
  const where = `${file}, offset ${offset}${slot === null ? '' : `, slot ${slot}`}`;
  return new LogStoreError('logCorrupt', `${where}: ${reason}`);
}
