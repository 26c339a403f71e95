/** Twelve hexadecimal digits that stand for this text, as names that are drawn at random look: the same at each run, wherever it runs. */
export function nameOf(text: string): string {
  const parts = [fnv1a(`1 ${text}`), fnv1a(`2 ${text}`)];
  return parts
    .map((part) => part.toString(16).padStart(8, '0'))
    .join('')
    .slice(0, 12);
}

/** The hash of that name, of 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  // The last bytes of texts that differ in their ends only must change all of it.
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97);
  return (hash ^ (hash >>> 15)) >>> 0;
}
