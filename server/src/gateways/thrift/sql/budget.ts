/** Bytes that many share. Pure. */
export class Budget {
  used = 0;
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  /** False: there are not so many left. */
  take(bytes: number): boolean {
    if (this.used + bytes > this.max) return false;
    this.used += bytes;
    return true;
  }

  /** Of what is there already, and cannot be refused any more. */
  add(bytes: number): void {
    this.used += bytes;
  }

  give(bytes: number): void {
    this.used -= bytes;
  }
}
