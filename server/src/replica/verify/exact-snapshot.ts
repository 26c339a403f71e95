/**
 * Whether the snapshots that a comparison has taken show exactly what is chosen up to its position.
 *
 * A standby shows exactly what it has replayed. On a primary two things can go wrong. The session of a commit that was released may not have come to showing it yet: then the snapshot is taken again. And a commit that is not
 * chosen may show all the same, if its session does not wait (`synchronous_commit`), or its wait was ended: that is found out when the WAL above the position is chosen, and makes the snapshot useless.
 * Responsible for: which transactions commit where, from the WAL. Knows nothing of digests.
 */
import { CommitReader } from '../../payload/wal/commit-reader.ts';
import { formatLsn, lsnNone, walPageBytes, type Lsn } from '../../wal/lsn.ts';
import { WalFormatError } from '../../wal/record/wal-fault.ts';
import type { ChosenWal } from '../../payload/wal/chosen-wal.ts';
import type { WalPosition } from '../../wal/position.ts';
import type { WalPayload } from '../../payload/wal/wal-payload.ts';
import type { SnapshotView } from '../../ports/digest.ts';

type Payload = Pick<WalPayload, 'wal' | 'isStandby' | 'barrier' | 'chosenEnd'>;

/** A session that was released before so much WAL was written has most certainly had its turn; a leader that seems to differ compares twice. Less than what is in memory. */
const windowBytes = 2 * 1024 * 1024;
const readBytesMax = 512 * 1024;

/** True of a snapshot that does not show a transaction which has committed at or below the position. @throws Error if the WAL cannot be read */
export async function missingBelow(
  payload: Payload,
  position: WalPosition,
): Promise<(view: SnapshotView) => boolean> {
  const { wal } = payload;
  if (payload.isStandby || wal === null) return () => false;
  const from = Math.max(position.end - windowBytes, wal.begin) as Lsn;
  const committed = await commitsBetween(wal, position, readableFrom(wal, from), position.end);
  return (view) => committed.some((xid) => !shows(view, xid));
}

/** Where reading can begin, and not below: with a page, or with what a group was founded with. */
function readableFrom({ base, begin }: ChosenWal, from: Lsn): Lsn {
  const isRecord = base.timeline === 0 && from === begin;
  return isRecord ? from : ((Math.ceil(from / walPageBytes) * walPageBytes) as Lsn);
}

/**
 * True if one of the snapshots shows a transaction that has committed above the position. Nothing may be held back at the position any more, for a commit of the replica's own has to be chosen.
 * @throws Error if leadership ends before it is known, or the WAL cannot be read
 */
export async function shownTooEarly(
  payload: Payload,
  position: WalPosition,
  views: readonly SnapshotView[],
): Promise<boolean> {
  const { wal } = payload;
  if (payload.isStandby) return false;
  // What a snapshot shows has its record below that of any commit that begins afterwards.
  await payload.barrier();
  if (wal === null || payload.wal !== wal || payload.isStandby) throw new Error('leadership has ended');
  const committed = await commitsBetween(wal, position, position.end, payload.chosenEnd);
  return committed.some((xid) => views.some((view) => shows(view, xid)));
}

function shows({ end, running }: SnapshotView, xid: bigint): boolean {
  return xid < end && !running.has(xid);
}

/** Full ids of the transactions whose commit records end above `from`, and at or below `to`. */
async function commitsBetween(
  wal: ChosenWal,
  position: WalPosition,
  from: Lsn,
  to: Lsn,
): Promise<readonly bigint[]> {
  const page = (Math.floor(from / walPageBytes) * walPageBytes) as Lsn;
  // Nobody waits any more for what an earlier leadership has committed.
  const fork = position.forks.at(-1)?.at ?? lsnNone;
  const founded = wal.base.timeline === 0 ? wal.begin : lsnNone;
  const reader = new CommitReader(Math.max(page, fork, founded) as Lsn, () => position.nextXid);
  const committed: bigint[] = [];
  while (reader.next < to) {
    const at = reader.next;
    // Records that end at or below `from` are of no interest, but are where reading can begin.
    const pieces = await wal.read(at, at < from ? from : to, readBytesMax);
    if (pieces === null) throw new Error(`the WAL at ${formatLsn(at)} is not there`);
    const found = reader.take(pieces);
    if (reader.fault !== null) throw new WalFormatError(reader.fault);
    if (at >= from) committed.push(...found.map(BigInt));
  }
  return committed;
}
