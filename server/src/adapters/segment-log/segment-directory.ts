/**
 * The little that the segment log needs of a file system, as a port of its own, so that tests can tear, slow and fail writes.
 *
 * Invariants of an implementation:
 * - `write` resolves only when all its bytes are on stable storage; if it rejects, any part of them may be there.
 * - No call blocks the event loop.
 */
export interface SegmentFile {
  size(): Promise<number>;
  write(data: Uint8Array, position: number): Promise<void>;
  /** Reads into `into` from `position`; returns the bytes read, fewer only at the end of the file. */
  read(into: Uint8Array, position: number): Promise<number>;
  /** Makes durable what an earlier process may have left in the system's cache. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface SegmentDirectory {
  readonly path: string;
  list(): Promise<string[]>;
  create(name: string): Promise<SegmentFile>;
  open(name: string): Promise<SegmentFile>;
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Makes created, renamed and removed names durable. */
  sync(): Promise<void>;
}
