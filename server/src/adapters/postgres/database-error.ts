/**
 * Sorts what `pg` throws into the outcomes that the Database port knows.
 *
 * Damage is what PostgreSQL itself found wrong with its files. A client's function can raise any SQLSTATE, and runs where rows are applied, too: where in
 * PostgreSQL's own code an error came from, though, no client can choose, and a client must not be able to have a database thrown away.
 */
import { DatabaseError } from '../../ports/database.ts';
import type { DatabaseErrorCode } from '../../ports/database.ts';

/** Not refusals of an effect: PostgreSQL is going down, or the transaction was ended from outside, and can be done again. */
const passing = /^(?:08|57P0|57014|40001|40P01|55P03|25P03|25P04)/;
/** disk_full, out_of_memory, too_many_connections, configuration_limit_exceeded. */
const full = /^53/;
/** data_corrupted, index_corrupted. */
const corrupted = /^XX00[12]$/;
/** A file within the data directory, as PostgreSQL names it. */
export const dataFile =
  /"(?:\.\/)?(?:base|global|pg_(?:wal|xact|multixact|commit_ts|subtrans|twophase|tblspc|filenode\.map|control))[/"]/;
/** undefined_file, io_error, wrong_object_type (a directory where a file should be). */
const fileStates = /^(?:58P01|58030|42809)$/;
const raisedByClients = /^pl_/;

/** What is damaged, in PostgreSQL's words; null if the error says nothing of the kind. */
export function damageIn(error: unknown): string | null {
  const sqlState = sqlStateOf(error);
  if (!(error instanceof Error) || sqlState === null) return null;
  const file = 'file' in error && typeof error.file === 'string' ? error.file : '';
  if (raisedByClients.test(file)) return null;
  if (corrupted.test(sqlState)) return `${error.message} (SQLSTATE ${sqlState})`;
  return fileStates.test(sqlState) && dataFile.test(error.message)
    ? `${error.message} (SQLSTATE ${sqlState})`
    : null;
}

export function toDatabaseError(error: unknown, doing: string): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const sqlState = sqlStateOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const code = damageIn(error) === null ? codeOf(sqlState) : 'databaseLost';
  return new DatabaseError(code, `${doing}: ${message}`, { cause: error, sqlState });
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
