/** PostgreSQL's default where a process has the usual limit of 8 MB. */
export const stackDepthKb = 2048;

/** Settings of a PostgreSQL that executes statements as others do: what is the same at all replicas, and what a client must not change. On the command line of its main process. */
export const statementSettings: Readonly<Record<string, string>> = {
  // The log is what is durable: what PostgreSQL has not flushed is executed again.
  synchronous_commit: 'off',
  // What is prepared could not be told apart from what is open when a replica was restarted.
  max_prepared_transactions: '0',
  // Rows come in the same order everywhere.
  synchronize_seqscans: 'off',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  jit: 'off',
  // Recursion ends in the same place. PostgreSQL would derive it from the limit of its process (main/stack-limit.ts).
  max_stack_depth: `${stackDepthKb}kB`,
  // A session that is opened again has its settings without having called a function of it.
  session_preload_libraries: 'plpgsql',
  // What it removes, and when, is nobody's statement; and it takes locks.
  autovacuum: 'off',
  // The WAL explains what becomes shorter by PostgreSQL's own doing (remembered/relation-sizes.ts), also of the time before a crash.
  wal_keep_size: '256MB',
};
