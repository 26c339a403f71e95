/** For tests: a tar like PostgreSQL's, of a few bytes, whole or spoilt in one place. */
import type { ReplicaId, Slot } from '../../../../multipaxos/types/names.ts';
import type { Lsn, Timeline } from '../../../../wal/lsn.ts';
import { positionNone } from '../../../../wal/position.ts';
import type { DurablePosition } from '../../copy/chosen.ts';
import { encodeDirectoryState } from '../../directory-state.ts';
import { encodeHeader, paddingAfter } from '../tar-header.ts';
import { withTrailer } from '../trailer.ts';

/** What a small backup has. */
export const smallPosition: DurablePosition = {
  position: {
    ...positionNone,
    slot: 41 as Slot,
    leadership: { round: 3, replica: 'r1' as ReplicaId },
    timeline: 2 as Timeline,
    end: 0x3000060 as Lsn,
    system: 7_710_888_988_100_568_922n,
    forks: [{ timeline: 2 as Timeline, at: 0x2000000 as Lsn }],
  },
  configuration: { version: 3, slot: 12 as Slot, members: [] },
};
const state = encodeDirectoryState({ role: { kind: 'standby' }, ...smallPosition });

export type SmallEntry = readonly [path: string, body: string | Buffer];

export const soundEntries: readonly SmallEntry[] = [
  ['backup_label', 'START WAL LOCATION'],
  ['PG_VERSION', '18\n'],
  ['base/', ''],
  ['base/1/', ''],
  ['base/1/1259', Buffer.alloc(1300, 7)],
  ['postgresql.conf', "port = '1'"],
  ['pg_hba.conf', 'trust'],
  ['empty', ''],
  ['global/pg_control', Buffer.alloc(8192, 3)],
];

/** `type`: as in the header; a name that ends in a slash is a directory. */
export function entry(path: string, body: string | Buffer, type?: string): Buffer {
  const content = Buffer.from(body);
  const header = encodeHeader(path, content.length);
  header.write(type ?? (path.endsWith('/') ? '5' : '0'), 156);
  reseal(header);
  return Buffer.concat([header, content, Buffer.alloc(paddingAfter(content.length))]);
}

/** Writes the checksum anew after a change of the header. */
export function reseal(header: Buffer): void {
  header.fill(' ', 148, 156);
  const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
}

export const endOfTar = Buffer.alloc(1024);

export function tarOf(entries: readonly SmallEntry[]): Buffer {
  return Buffer.concat([...entries.map(([path, body]) => entry(path, body)), endOfTar]);
}

export async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) {
    // As a socket gives them: later.
    await Promise.resolve();
    yield bytes.subarray(at, at + size);
  }
}

/** What the source would give: the tar with `added` entries, and the trailer. */
export async function sealed(
  tar: Buffer = tarOf(soundEntries),
  added: readonly SmallEntry[] = [],
): Promise<Buffer> {
  async function* more(): AsyncGenerator<Buffer, string> {
    for (const [path, body] of added) yield entry(path, body);
    return state;
  }
  const parts: Buffer[] = [];
  for await (const part of withTrailer(inPieces(tar, 700), more)) parts.push(part);
  return Buffer.concat(parts);
}
