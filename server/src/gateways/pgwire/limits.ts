/** Every bound of the front end in one place. */
export interface PgwireLimits {
  readonly clientsMax: number;
  /** Longest message of a client that is held whole (SQL text, parameters), header included. */
  readonly frameBytesMax: number;
  /** The same for PostgreSQL's messages (a harvested row, an error). */
  readonly backendFrameBytesMax: number;
  /** Longest message that is passed on in pieces (COPY data, result rows). */
  readonly streamedFrameBytesMax: number;
  /** From the connection to the end of authentication. */
  readonly startupTimeoutMs: number;
  /** How long a new client waits for a leader, or for its PostgreSQL. */
  readonly leaderWaitMs: number;
  /** How much of an answer is kept back while it may still have to be made anew. */
  readonly holdBytesMax: number;
  /** How much of a pipeline is looked at before it is run. */
  readonly batchBytesMax: number;
  /** Messages of a client that wait while another is being served. */
  readonly inputQueueBytesMax: number;
  readonly preparedStatementsMax: number;
  readonly portalsMax: number;
  /** SQL texts whose classification is remembered, for all clients together. */
  readonly parseCacheBytesMax: number;
  /** How long the answer of a leader that has been replaced is waited for by a client tunnelled to it. */
  readonly tunnelGraceMs: number;
  /** How long a client whose leader went away in the middle of a commit waits for this replica's log to tell what became of it. */
  readonly outcomeWaitMs: number;
}

const MiB = 1_048_576;

export const defaultLimits: PgwireLimits = {
  clientsMax: 500,
  frameBytesMax: 128 * MiB,
  backendFrameBytesMax: 128 * MiB,
  streamedFrameBytesMax: 1024 * MiB,
  startupTimeoutMs: 60_000,
  leaderWaitMs: 5_000,
  holdBytesMax: 131_072,
  batchBytesMax: MiB,
  inputQueueBytesMax: MiB,
  preparedStatementsMax: 10_000,
  portalsMax: 10_000,
  parseCacheBytesMax: 16 * MiB,
  tunnelGraceMs: 1_000,
  outcomeWaitMs: 15_000,
};
