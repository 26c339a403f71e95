/**
 * What was found out about the texts that came last, bounded by the characters that it holds. Texts that are long are parsed each time.
 */

const textCharactersMax = 64 * 1024;

export class RewritingCache<Found> {
  readonly #charactersMax: number;
  readonly #found = new Map<string, { readonly found: Found; readonly functions: unknown }>();
  #characters = 0;

  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax;
  }

  /** `functions`: another set of functions is another answer. */
  get(kind: string, text: string, functions: unknown): Found | undefined {
    const key = `${kind} ${text}`;
    const kept = this.#found.get(key);
    if (kept === undefined || kept.functions !== functions) return undefined;
    // The map is in the order of use.
    this.#found.delete(key);
    this.#found.set(key, kept);
    return kept.found;
  }

  put(kind: string, text: string, functions: unknown, found: Found): void {
    if (text.length > textCharactersMax) return;
    const key = `${kind} ${text}`;
    if (!this.#found.delete(key)) this.#characters += key.length;
    this.#found.set(key, { found, functions });
    for (const oldest of this.#found.keys()) {
      if (this.#characters <= this.#charactersMax) break;
      this.#found.delete(oldest);
      this.#characters -= oldest.length;
    }
  }

  get characters(): number {
    return this.#characters;
  }
}
