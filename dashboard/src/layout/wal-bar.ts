/** How tall a range of WAL is drawn. Pure geometry. */

/** From here up to `fullBytes` a bar grows by the same for each doubling. */
const leastBytes = 128;
const fullBytes = 256 * 1024;

/** Between `least` and `full`. */
export function walBarHeight(bytes: number, least: number, full: number): number {
  const share = Math.log2(Math.max(1, bytes / leastBytes)) / Math.log2(fullBytes / leastBytes);
  return least + Math.round(Math.min(1, share) * (full - least));
}
