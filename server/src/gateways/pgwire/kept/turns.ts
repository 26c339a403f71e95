/** Lets so many do something at the same time; the others wait in the order in which they came. */
export class Turns {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(atOnceMax: number) {
    this.free = atOnceMax;
  }

  /** Resolves with the way to end the turn, which may be called once. */
  async take(): Promise<() => void> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    return () => this.next();
  }

  /** The turn is handed on, or is free again. */
  private next(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }
}
