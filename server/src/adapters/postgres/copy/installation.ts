/**
 * What a replica's PostgreSQL and its machine must have in common with those of its peers, since what travels is pages and not rows.
 *
 * Responsible for: finding these facts out without starting PostgreSQL, and saying in what two replicas differ. An index on text is in the order of its collation, whose rules come with the C library or with ICU: under another version
 * the same pages are another index, or none.
 */
import { open } from 'node:fs/promises';
import type { PgBinaries } from '../binaries.ts';
import type { ControlFacts } from './control-file.ts';
import { pageBytes, segmentPages } from './page.ts';
import { segmentBytes, walPageBytes } from '../../../wal/lsn.ts';

export interface Installation {
  readonly majorVersion: number;
  /** Such as `x64`. */
  readonly architecture: string;
  /** The version of the C library that collations come from, such as `2.36`; null where it has none. */
  readonly libc: string | null;
  /** The major version of ICU that PostgreSQL is linked with; null: it has none. */
  readonly icu: string | null;
}

/** Reads through the program once: some 30 ms. */
export async function describeInstallation(
  binaries: Pick<PgBinaries, 'postgres' | 'majorVersion'>,
): Promise<Installation> {
  return {
    majorVersion: binaries.majorVersion,
    architecture: process.arch,
    libc: libcVersion(),
    icu: await icuVersion(binaries.postgres),
  };
}

/** Node.js runs with the C library that PostgreSQL runs with. */
function libcVersion(): string | null {
  // Else it would look up the names of all that are connected.
  Object.assign(process.report, { excludeNetwork: true });
  const report = process.report.getReport() as {
    readonly header?: { readonly glibcVersionRuntime?: string };
  };
  return report.header?.glibcVersionRuntime ?? null;
}

const icuName = Buffer.from('libicui18n.');
const chunkBytes = 1024 * 1024;
const tailBytes = 32;

/** The program names the library that the loader is to find. */
async function icuVersion(program: string): Promise<string | null> {
  const file = await open(program, 'r');
  try {
    const buffer = Buffer.alloc(chunkBytes + tailBytes);
    for (let from = 0; ; from += chunkBytes) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
      const at = buffer.subarray(0, bytesRead).indexOf(icuName);
      // One that begins in the tail is found whole in the next chunk.
      const isWhole = at >= 0 && (at < chunkBytes || bytesRead < buffer.length);
      if (isWhole)
        return /^libicui18n\.(?:so\.)?(\d+)/.exec(buffer.toString('latin1', at, at + tailBytes))?.[1] ?? null;
      if (bytesRead < buffer.length) return null;
    }
  } finally {
    await file.close();
  }
}

/** Why the pages of one are of no use to the other, for people; null if they are. */
export function unlikeness(own: Installation, source: Installation): string | null {
  const facts: readonly (readonly [string, string, string])[] = [
    ['PostgreSQL', String(own.majorVersion), String(source.majorVersion)],
    ['the architecture', own.architecture, source.architecture],
    [
      'the C library, with the order of its collations,',
      own.libc ?? 'another one',
      source.libc ?? 'another one',
    ],
    ['ICU', own.icu ?? 'none', source.icu ?? 'none'],
  ];
  const different = facts.find(([, mine, theirs]) => mine !== theirs);
  if (different === undefined) return null;
  const [what, mine, theirs] = different;
  return `${what} is ${theirs} there and ${mine} here`;
}

/** The same of two clusters' files; `own` null: there are none yet. */
export function unlikeFiles(own: ControlFacts | null, source: ControlFacts): string | null {
  if (source.pageBytes !== pageBytes || source.segmentPages !== segmentPages) {
    return `its pages have ${source.pageBytes} bytes, ${source.segmentPages} of them a file: only ${pageBytes} and ${segmentPages} can be copied`;
  }
  if (source.walSegmentBytes !== segmentBytes || source.walPageBytes !== walPageBytes) {
    return `its WAL comes in files of ${source.walSegmentBytes} bytes and pages of ${source.walPageBytes}: only ${segmentBytes} and ${walPageBytes} can be copied`;
  }
  if (own === null) return null;
  if (own.system !== source.system)
    return `its cluster has the identifier ${source.system}, the one here ${own.system}`;
  if (own.controlVersion !== source.controlVersion || own.catalogVersion !== source.catalogVersion) {
    return `its catalogs have version ${source.catalogVersion} (control file ${source.controlVersion}), those here ${own.catalogVersion} (${own.controlVersion})`;
  }
  return null;
}
