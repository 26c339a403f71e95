/**
 * Lets so many do something at the same time, and one source half of these, so that what holds up one source's costs others little.
 *
 * The others wait: within a source in the order in which they came; of the sources one after the other is next.
 */
export class Turns {
  private free: number;
  private readonly ofSourceMax: number;
  private readonly held = new Map<string, number>();
  /** By source. No list is empty. */
  private readonly waiting = new Map<string, (() => void)[]>();

  constructor(atOnceMax: number) {
    this.free = atOnceMax;
    this.ofSourceMax = Math.ceil(atOnceMax / 2);
  }

  /** Resolves with the way to end the turn, which may be called once. */
  async take(source: string): Promise<() => void> {
    if (this.free > 0 && this.hasRoom(source)) this.begin(source);
    else await new Promise<void>((resolve) => this.wait(source, resolve));
    return () => this.end(source);
  }

  private hasRoom(source: string): boolean {
    return (this.held.get(source) ?? 0) < this.ofSourceMax;
  }

  private begin(source: string): void {
    this.free -= 1;
    this.held.set(source, (this.held.get(source) ?? 0) + 1);
  }

  private wait(source: string, resolve: () => void): void {
    const list = this.waiting.get(source);
    if (list === undefined) this.waiting.set(source, [resolve]);
    else list.push(resolve);
  }

  /** The turn is handed on, or is free again. */
  private end(source: string): void {
    this.free += 1;
    const held = this.held.get(source)! - 1;
    if (held === 0) this.held.delete(source);
    else this.held.set(source, held);
    for (const [next, list] of this.waiting) {
      if (!this.hasRoom(next)) continue;
      this.waiting.delete(next);
      const resolve = list.shift()!;
      if (list.length > 0) this.waiting.set(next, list);
      this.begin(next);
      resolve();
      return;
    }
  }
}
