/**
 * What an error of `pg` says about PostgreSQL's own files.
 *
 * Damage is what PostgreSQL itself found wrong with them. A client's function can raise any SQLSTATE; where in PostgreSQL's own code an error came from, though, no client can choose, and a client must not be able to have a
 * database thrown away.
 */

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

/** Null unless PostgreSQL itself reported the error. */
export function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('severity' in error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/** A database is there by the catalog, and its directory is not: that is damage. */
export function lacksDirectory(error: unknown): boolean {
  const { detail } = error as { readonly detail?: unknown };
  return sqlStateOf(error) === '3D000' && typeof detail === 'string' && detail.includes('subdirectory');
}
