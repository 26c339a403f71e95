/**
 * Seeds that are new with every change, and the same for whoever has the same files.
 *
 * What is refused is refused again wherever that commit is checked out, so a red run is nobody's bad luck: its command shows it again.
 */
const FIRST_MAX = 2 ** 28;

/** `hash`: hexadecimal. A whole number from 1 to 2^28. */
export function seedOfHash(hash: string): number {
  return (Number.parseInt(hash.slice(0, 7), 16) % FIRST_MAX) + 1;
}
