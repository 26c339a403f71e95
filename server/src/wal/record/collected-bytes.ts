/** Puts together a header that may come in pieces. Pure. */

export class CollectedBytes {
  readonly bytes: Uint8Array;
  taken = 0;

  constructor(bytesMax: number) {
    this.bytes = new Uint8Array(bytesMax);
  }

  /** Takes from `from` on what is missing to `wanted`, at most up to before `to`. Returns where it stopped. */
  take(wanted: number, from: Uint8Array, at: number, to: number): number {
    const end = Math.min(to, at + wanted - this.taken);
    for (let i = at; i < end; i += 1) {
      this.bytes[this.taken] = from[i]!;
      this.taken += 1;
    }
    return end;
  }
}
