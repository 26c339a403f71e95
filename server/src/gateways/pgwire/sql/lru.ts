/** A map that forgets the least recently used entries beyond a total weight. */
export interface Lru<V> {
  get(key: string): V | undefined;
  /** Ignored if the entry alone is too heavy. */
  set(key: string, value: V, weight: number): void;
  readonly size: number;
  readonly weight: number;
}

export const createLru = <V>(weightMax: number): Lru<V> => {
  const entries = new Map<string, { readonly value: V; readonly weight: number }>();
  let total = 0;
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, weight) {
      if (weight > weightMax) return;
      total += weight - (entries.get(key)?.weight ?? 0);
      entries.delete(key);
      entries.set(key, { value, weight });
      for (const [oldest, entry] of entries) {
        if (total <= weightMax) break;
        entries.delete(oldest);
        total -= entry.weight;
      }
    },
    get size() {
      return entries.size;
    },
    get weight() {
      return total;
    },
  };
};
