/** Sorts what `pg` throws into the three outcomes that the Database port knows. */
import { DatabaseError } from '../../ports/database.ts';
import type { DatabaseErrorCode } from '../../ports/database.ts';

/** Not refusals of an effect: PostgreSQL is going down, or the transaction was ended from outside, and can be done again. */
const passing = /^(?:08|57P0|57014|40001|40P01|55P03|25P03|25P04)/;
/** disk_full, out_of_memory, too_many_connections, configuration_limit_exceeded. */
const full = /^53/;

export function toDatabaseError(error: unknown, doing: string): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const sqlState = sqlStateOf(error);
  const message = error instanceof Error ? error.message : String(error);
  return new DatabaseError(codeOf(sqlState), `${doing}: ${message}`, { cause: error, sqlState });
}

function codeOf(sqlState: string | null): DatabaseErrorCode {
  // Without a SQLSTATE it is the connection that failed.
  if (sqlState === null || passing.test(sqlState)) return 'databaseDown';
  return full.test(sqlState) ? 'databaseFull' : 'applyFailed';
}

/** Null unless PostgreSQL itself reported the error. */
export function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('severity' in error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
