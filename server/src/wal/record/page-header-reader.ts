/** Reads the headers of the pages that a walk comes to, which may be cut into pieces. Pure. From page to page timelines never go down, and the version stays the same. */
import { walPageBytes, type Lsn } from '../lsn.ts';
import { CollectedBytes } from './collected-bytes.ts';
import { longHeaderBytes, pageHeaderBytes, readPageHeader, type PageHeader } from './page-header.ts';
import type { WalFault } from './wal-fault.ts';

export class PageHeaderReader {
  private readonly collected = new CollectedBytes(longHeaderBytes);
  private last: PageHeader | null = null;

  /** The newest header; null before the first. */
  get newest(): PageHeader | null {
    return this.last;
  }

  /** Takes what is missing of the header of the page at `page`. Returns where it stopped; `read` tells whether it is whole. */
  take(page: Lsn, bytes: Uint8Array, at: number): number {
    return this.collected.take(pageHeaderBytes(page), bytes, at, bytes.length);
  }

  /** Bytes that are here of a header that is not whole. */
  get taken(): number {
    return this.collected.taken;
  }

  /** The header of the page at `page`. Null: it is not whole yet. */
  read(page: Lsn): PageHeader | WalFault | null {
    if (this.collected.taken < pageHeaderBytes(page)) return null;
    this.collected.taken = 0;
    const header = readPageHeader(this.collected.bytes, page);
    if ('code' in header) return header;
    const why = this.last === null ? null : whyNotAfter(this.last, header);
    if (why !== null) return { code: 'pageHeader', at: page, text: why };
    this.last = header;
    return header;
  }

  /** Forgets a header that is not whole. */
  letGo(): void {
    this.collected.taken = 0;
  }
}

function whyNotAfter(before: PageHeader, header: PageHeader): string | null {
  if (header.timeline < before.timeline)
    return `it is of timeline ${header.timeline}, after ${before.timeline}`;
  if (header.version !== before.version)
    return `it is of PostgreSQL ${header.version}, after ${before.version}`;
  return null;
}

/** What a page at whose beginning a walk stands holds besides its header. */
export function pageBodyBytes(page: Lsn): number {
  return walPageBytes - pageHeaderBytes(page);
}
