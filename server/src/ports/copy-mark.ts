/** That a database has executed what the log has not: only another database helps, in every later life of the replica. */
export interface CopyMark {
  readonly isSet: boolean;
  /** Durable when it returns. */
  set(): void;
  clear(): void;
}
