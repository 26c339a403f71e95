/** How much is kept by a value: its objects, and the entries of its lists, maps and sets, each object once. For tests that what is kept does not grow. */
export function countReachable(value: unknown): number {
  const seen = new Set<object>();
  const waiting: unknown[] = [value];
  let entries = 0;
  while (waiting.length > 0) {
    const one = waiting.pop();
    if (typeof one !== 'object' || one === null || seen.has(one)) continue;
    seen.add(one);
    const parts = partsOf(one);
    entries += parts.length;
    for (const part of parts) if (typeof part === 'object') waiting.push(part);
  }
  return seen.size + entries;
}

function partsOf(value: object): readonly unknown[] {
  if (value instanceof Map) return [...value].flat();
  if (value instanceof Set) return [...value];
  return Array.isArray(value) ? value : Object.values(value);
}
