/** For tests: compares the visibility maps of two PostgreSQLs that have been shut down at the same position of the WAL. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pageBytes, segmentPages } from '../page.ts';
import {
  firstNormalXid,
  infomaskAt,
  type Item,
  itemsOf,
  normal,
  xmaxInvalid,
  xminFrozen,
} from './page-items.ts';

/**
 * A page that is called all-visible, or all-frozen, and is not, hides rows. More may be called so than in the reference, where it is true: a standby that replays CREATE DATABASE with the strategy wal_log begins with empty maps (what
 * they hold lies where a page's image in the WAL is left out), and the primary's are full.
 */
export function judgeMap(
  reference: string,
  judged: string,
  { name, path }: { readonly name: string; readonly path: string },
): string[] {
  const [known, found] = [reference, judged].map((directory) => readFile(join(directory, `${path}_vm`)));
  if (found == null) return [];
  const problems: string[] = [];
  for (let at = 0; at < found.length; at += 1) {
    if (at % pageBytes < mapHeaderBytes) continue;
    const more = found[at]! & ~(known?.[at] ?? 0);
    if (more === 0) continue;
    const first = (Math.floor(at / pageBytes) * mapBytes + (at % pageBytes) - mapHeaderBytes) * blocksPerByte;
    for (let i = 0; i < blocksPerByte; i += 1) {
      const bits = (more >>> (2 * i)) & 3;
      const page = bits === 0 ? null : pageOf(join(reference, path), first + i);
      if (bits !== 0 && (page === null || !deserves(page, bits)))
        problems.push(
          `${name} (${path}), block ${first + i}: the visibility map says ${bits} more of it, and it is not so`,
        );
    }
  }
  return problems;
}

const mapHeaderBytes = 24;
const mapBytes = pageBytes - mapHeaderBytes;
const blocksPerByte = 4;
const allVisible = 1;
const allFrozen = 2;
/** In a page's flags. */
const isAllVisible = 0x0004;
const flagsAt = 10;

function pageOf(path: string, block: number): Buffer | null {
  const segment = Math.floor(block / segmentPages);
  const file = readFile(segment === 0 ? path : `${path}.${segment}`);
  const at = (block % segmentPages) * pageBytes;
  return file === null || at + pageBytes > file.length ? null : file.subarray(at, at + pageBytes);
}

function deserves(page: Buffer, bits: number): boolean {
  if ((bits & allVisible) !== 0 && (page.readUInt16LE(flagsAt) & isAllVisible) === 0) return false;
  return (bits & allFrozen) === 0 || itemsOf(page).every((item) => isFrozen(page, item));
}

function isFrozen(page: Buffer, { at, flags }: Item): boolean {
  if (flags !== normal) return true;
  const infomask = page.readUInt16LE(at + infomaskAt);
  const noDeleter = page.readUInt32LE(at + 4) === 0 || (infomask & xmaxInvalid) !== 0;
  return noDeleter && (page.readUInt32LE(at) < firstNormalXid || (infomask & xminFrozen) === xminFrozen);
}

export function readFile(path: string): Buffer | null {
  return existsSync(path) ? readFileSync(path) : null;
}
