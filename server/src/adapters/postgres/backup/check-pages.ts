/**
 * Checks the files of a database page by page: checksums, and pages of zeros where the visibility map says that there are rows.
 *
 * A page of zeros has no checksum. PostgreSQL makes such pages ahead of their use, so one is not wrong in itself; but VACUUM marks no page as visible that was never used.
 *
 * Invariant: memory is bounded by the size of one file (131,072 pages), not of the database; holes are remembered for `filesMax` files.
 */
import { join, relative } from 'node:path';
import { readdir } from '../account-files.ts';
import { isWholePage, isZeroPage, pageBytes, segmentPages } from '../copy/page.ts';
import { chunksOf } from './page-chunks.ts';

export const complaintsMax = 100;
const filesMax = 10_000;

export interface Holes {
  readonly first: number;
  readonly count: number;
}

/** Empty pages that used ones follow, by the path of the relation's first file within the data directory. */
export type HolesOfFiles = ReadonlyMap<string, Holes>;

export interface CheckedPages {
  readonly pages: number;
  /** The first of them: pages with a wrong checksum, files that end within a page, rows that were overwritten by zeros. */
  readonly complaints: readonly string[];
  readonly holes: HolesOfFiles;
}

/** Every fork of every relation; of one that is larger than a file, `.1` is the second file. */
const relationFile = /^(\d+)(_(?:fsm|vm|init))?(?:\.(\d+))?$/;

/** Of a PostgreSQL that was shut down. @throws the file system's error, or the signal's reason */
export async function checkPages(dataDir: string, signal?: AbortSignal): Promise<CheckedPages> {
  const complaints: string[] = [];
  const holes = new Map<string, Holes>();
  let pages = 0;
  const base = join(dataDir, 'base');
  const databases = (await readdir(base)).map((name) => join(base, name));
  for (const directory of [join(dataDir, 'global'), ...databases]) {
    const files = await readdir(directory);
    const names = new Set(files);
    for (const file of files.toSorted()) {
      const match = relationFile.exec(file);
      if (match === null) continue;
      const path = join(directory, file);
      const [, relation = '', fork, segment = '0'] = match;
      const found = await checkFile(path, Number(segment) * segmentPages, signal);
      pages += found.pages;
      complaints.push(...found.complaints.map((complaint) => `${relative(dataDir, path)}: ${complaint}`));
      if (complaints.length >= complaintsMax) return { pages, complaints, holes };
      if (fork !== undefined || found.holes.length === 0) continue;
      const of = relative(dataDir, join(directory, relation));
      const before = holes.get(of);
      if (before !== undefined || holes.size < filesMax)
        holes.set(of, {
          first: Math.min(before?.first ?? Number.POSITIVE_INFINITY, found.holes[0]!),
          count: (before?.count ?? 0) + found.holes.length,
        });
      const map = `${relation}_vm`;
      if (!names.has(map)) continue;
      const lost = await visibleAmong(join(directory, map), found.holes, signal);
      if (lost.length > 0)
        complaints.push(
          `${relative(dataDir, path)}: ${lost.length} of its pages hold zeros, the first one block ${lost[0]}, though the visibility map has rows in them: it has lost rows`,
        );
    }
  }
  return { pages, complaints, holes };
}

interface CheckedFile {
  readonly pages: number;
  readonly complaints: readonly string[];
  /** Blocks of zeros that others follow in the same file, in order. */
  readonly holes: readonly number[];
}

async function checkFile(path: string, firstBlock: number, signal?: AbortSignal): Promise<CheckedFile> {
  const complaints: string[] = [];
  const zeros: number[] = [];
  let holes = 0;
  let size = 0;
  for await (const { chunk, bytes, from } of chunksOf(path, signal)) {
    for (let at = 0; at + pageBytes <= bytes; at += pageBytes) {
      const block = firstBlock + (from + at) / pageBytes;
      if (!isWholePage(chunk, at, block)) complaints.push(`the checksum of block ${block} is wrong`);
      if (isZeroPage(chunk, at)) zeros.push(block);
      else holes = zeros.length;
    }
    size = from + bytes;
    if (bytes % pageBytes !== 0) complaints.push(`${size} bytes are no whole pages`);
  }
  // A full file has another one behind it.
  if (size >= segmentPages * pageBytes) holes = zeros.length;
  return { pages: Math.floor(size / pageBytes), complaints, holes: zeros.slice(0, holes) };
}

/** Of a page of the map. Two bits for each page of the table: all visible, all frozen. */
const mapHeaderBytes = 24;
const pagesOfByte = 4;
const pagesOfMapPage = (pageBytes - mapHeaderBytes) * pagesOfByte;

/** Those of these blocks, in order, of which VACUUM has said that all their rows are visible. @throws the file system's error, or the signal's reason */
async function visibleAmong(
  path: string,
  blocks: readonly number[],
  signal?: AbortSignal,
): Promise<readonly number[]> {
  const visible: number[] = [];
  let next = 0;
  for await (const { chunk, bytes, from } of chunksOf(path, signal)) {
    for (; next < blocks.length; next += 1) {
      const block = blocks[next]!;
      const byte = mapHeaderBytes + Math.floor((block % pagesOfMapPage) / pagesOfByte);
      const at = Math.floor(block / pagesOfMapPage) * pageBytes + byte - from;
      if (at >= bytes) break;
      if (((chunk[at]! >> (2 * (block % pagesOfByte))) & 3) !== 0) visible.push(block);
    }
  }
  return visible;
}
