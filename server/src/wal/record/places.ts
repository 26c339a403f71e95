/** Where pages and segments end. Pure. */
import { segmentBytes, segmentStart, walPageBytes, type Lsn } from '../lsn.ts';

/** Bytes to the end of the page; at a page's beginning: 0. */
export function restOfPage(position: number): number {
  return (walPageBytes - (position % walPageBytes)) % walPageBytes;
}

/** Where the segment ends that holds the byte before `position`. */
export function segmentEnd(position: number): Lsn {
  return (segmentStart((position - 1) as Lsn) + segmentBytes) as Lsn;
}
