/**
 * Whether a snapshot of the leader's lacks a transaction that is chosen: its commit may have been released, and its session not have come to showing it yet.
 *
 * A standby shows exactly what it has replayed, so there it never does.
 */
import { CommitReader } from '../../payload/wal/commit-reader.ts';
import { segmentStart, walPageBytes, type Lsn } from '../../payload/wal/lsn.ts';
import type { WalPosition } from '../../payload/wal/wal-history.ts';
import type { WalPayload } from '../../payload/wal/wal-payload.ts';

/** A session that was released before so much WAL was written has had its turn. */
const windowBytes = 4 * 1024 * 1024;
const readBytesMax = 512 * 1024;

/** @throws Error if the WAL cannot be read */
export async function committedBelow(
  payload: Pick<WalPayload, 'wal' | 'isStandby'>,
  position: WalPosition,
): Promise<(running: readonly bigint[]) => boolean> {
  const { wal } = payload;
  if (payload.isStandby || wal === null) return () => false;
  const first = Math.max(position.end - windowBytes, segmentStart(wal.base.end));
  let at = (Math.ceil(first / walPageBytes) * walPageBytes) as Lsn;
  const committed = new Set<string>();
  const reader = new CommitReader(at, () => position.nextXid);
  while (at < position.end) {
    const pieces = await wal.read(at, position.end, readBytesMax);
    if (pieces === null) break;
    for (const xid of reader.take(pieces)) committed.add(xid);
    at = pieces.reduce((sum, piece) => sum + piece.length, at as number) as Lsn;
  }
  return (running) => running.some((xid) => committed.has(String(xid)));
}
