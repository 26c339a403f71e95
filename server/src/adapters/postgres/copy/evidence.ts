/**
 * What the target of a copy says of each of its blocks of 8 KB, by which the source decides whether the block is sent: nothing, the position of its last change (an LSN), or a hash.
 *
 * Responsible for: the rule, and the bytes in which evidence travels. Reads no files.
 *
 * The rule, and why it is safe. A copy is the source's files as they were read, followed by replay of the WAL from a checkpoint before the first read on. It may leave out a block of the target's that is equal to the
 * source's in everything that replay and readers go by. That is certainly so if the bytes are equal (`hash`). For most blocks less is enough. With data checksums on, PostgreSQL changes a page of a
 * relation's main fork together with a WAL record, and the page bears the position where that record ends. A target that was a standby has chosen WAL and nothing else: one record ends
 * at one position, and what a page looks like after it follows from the records up to it. So two pages of one name and number that bear the same position are equal but for what PostgreSQL writes without a
 * record:
 *
 * - Hints: bits that say how a transaction ended, dead index entries, hints about free space. They are true for the replica that set them, whatever record is on the page. A hint about a transaction that is not chosen would
 *   be a lie elsewhere. Nobody but the transaction itself takes its end for certain while it waits for its synchronous standby (it is still counted as running), and a standby replays nothing that is not chosen.
 * - A sequence's page: its numbers are used without a record, up to the one that the last record names. A page with a stale number and the same position would hand numbers out a second time. By hash.
 * - Visibility maps and free space maps: cleared and changed without a position. By hash; they are small.
 * - Pages without a position, such as those that were added and not used yet. By hash. A free page of an SP-GiST index may lose its position at the primary (it is made anew in memory, without a record); whoever uses it next logs it as a new one.
 *
 * Of a target that was a primary every block is compared by hash. Above the place where histories part, two records may end at the same position. Below it, hints may tell of what was never chosen: PostgreSQL's own workers
 * commit without waiting, waits are ended early, and a restart recovers what is not chosen.
 *
 * A page whose checksum is wrong was written in part: its position says nothing, and it is sent. All
 * that is no main fork (commit status, maps, control data) has no such positions: by hash.
 *
 * That the source's page may be ahead of or behind any one moment is the same as in every online backup: what was changed after the checkpoint is in the WAL, whole.
 */
import { hash } from 'node:crypto';
import { type Lsn, lsnNone } from '../../../wal/lsn.ts';
import type { FileClass } from './file-class.ts';
import { isWholePage, isZeroPage, looksLikeSequence, pageBytes, pageLsn } from './page.ts';

export type Evidence =
  /** Damaged: send it. */
  | { readonly kind: 'none' }
  /** The file ends before it. Is not said, but follows from what is. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'lsn'; readonly lsn: Lsn }
  | { readonly kind: 'hash'; readonly hash: Buffer };

export const noEvidence: Evidence = { kind: 'none' };
export const absentEvidence: Evidence = { kind: 'absent' };
const hashBytes = 16;

/** Of the block that begins at `at`; `length` is less than a page at the end of some files only. `block`: its number in the file. `byPosition`: a position may be believed. */
export function evidenceOf(
  bytes: Buffer,
  at: number,
  {
    length,
    block,
    file,
    byPosition,
  }: { length: number; block: number; file: FileClass; byPosition: boolean },
): Evidence {
  if (file.kind === 'relation' && length === pageBytes) {
    if (!isWholePage(bytes, at, file.firstBlock + block)) return noEvidence;
    const lsn = pageLsn(bytes, at);
    if (byPosition && lsn !== lsnNone && !looksLikeSequence(bytes, at)) return { kind: 'lsn', lsn };
  }
  return { kind: 'hash', hash: hashOf(bytes, at, length) };
}

/** Whether the source's block is the target's by this evidence. */
export function isEqualBy(evidence: Evidence, bytes: Buffer, at: number, length: number): boolean {
  switch (evidence.kind) {
    case 'none':
      return false;
    case 'absent':
      // A file that is made longer is longer by zeros.
      return length === pageBytes && isZeroPage(bytes, at);
    case 'lsn':
      return length === pageBytes && pageLsn(bytes, at) === evidence.lsn;
    case 'hash':
      return hashOf(bytes, at, length).equals(evidence.hash);
    default:
      return evidence satisfies never;
  }
}

/** Half of a SHA-256: nobody finds two blocks with the same one, not even who chooses what is in them. */
function hashOf(bytes: Buffer, at: number, length: number): Buffer {
  return hash('sha256', bytes.subarray(at, at + length), 'buffer').subarray(0, hashBytes);
}

const tags = { none: 0, absent: 0, lsn: 1, hash: 2 } as const;
const evidenceBytesMax = 1 + hashBytes;

export function encodeEvidence(list: readonly Evidence[]): Buffer {
  const out = Buffer.allocUnsafe(list.length * evidenceBytesMax);
  let at = 0;
  for (const evidence of list) {
    at = out.writeUInt8(tags[evidence.kind], at);
    if (evidence.kind === 'lsn') at = out.writeBigUInt64LE(BigInt(evidence.lsn), at);
    if (evidence.kind === 'hash') at += evidence.hash.copy(out, at);
  }
  return out.subarray(0, at);
}

/** @throws RangeError if it is none */
export function decodeEvidence(bytes: Buffer): Evidence[] {
  const list: Evidence[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.readUInt8(at);
    at += 1;
    switch (tag) {
      case tags.none:
        list.push(noEvidence);
        break;
      case tags.lsn:
        list.push({ kind: 'lsn', lsn: Number(bytes.readBigUInt64LE(at)) as Lsn });
        at += 8;
        break;
      case tags.hash:
        if (at + hashBytes > bytes.length) throw new RangeError('a hash is cut short');
        list.push({ kind: 'hash', hash: bytes.subarray(at, at + hashBytes) });
        at += hashBytes;
        break;
      default:
        throw new RangeError(`evidence of the unknown kind ${tag}`);
    }
  }
  return list;
}
