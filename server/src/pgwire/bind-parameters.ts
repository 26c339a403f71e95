/**
 * The short parameters of a Bind message that comes in parts. Pure.
 *
 * Responsible for: where parameters begin and end. Longer ones are passed over, and none of their bytes is looked at. What is cut short or wrong is read as far as it goes: PostgreSQL refuses it.
 */
type Expected = 'portal' | 'statement' | 'formatCount' | 'formats' | 'count' | 'length' | 'value' | 'end';

export class BindParameters {
  private readonly bytesMax: number;
  private readonly onParameter: (value: string) => void;
  private expected: Expected = 'portal';
  /** Bytes of what is expected that have not come, and whether they are kept. */
  private left = 0;
  private isKept = false;
  private kept: Buffer[] = [];
  private parameters = 0;

  /** `onParameter`: hears each that has no more than `bytesMax` bytes, as latin1. */
  constructor(bytesMax: number, onParameter: (value: string) => void) {
    this.bytesMax = bytesMax;
    this.onParameter = onParameter;
  }

  /** The next bytes of the payload. */
  push(bytes: Buffer, from: number, to: number): void {
    let at = from;
    while (this.expected !== 'end' && (at < to || this.isDue)) {
      if (this.expected === 'portal' || this.expected === 'statement') at = this.skipName(bytes, at, to);
      else {
        const end = Math.min(to, at + this.left);
        if (this.isKept && end > at) this.kept.push(Buffer.from(bytes.subarray(at, end)));
        this.left -= end - at;
        at = end;
        if (this.isDue) this.take();
      }
    }
  }

  private get isDue(): boolean {
    return this.left === 0 && this.expected !== 'portal' && this.expected !== 'statement';
  }

  private skipName(bytes: Buffer, from: number, to: number): number {
    for (let at = from; at < to; at += 1) {
      if (bytes[at] !== 0) continue;
      if (this.expected === 'portal') this.expected = 'statement';
      else this.expect('formatCount', 2);
      return at + 1;
    }
    return to;
  }

  private expect(what: Expected, bytes: number, isKept = true): void {
    this.expected = what;
    this.left = bytes;
    this.isKept = isKept;
  }

  /** What was expected is there. */
  private take(): void {
    const value = this.kept.length === 1 ? this.kept[0]! : Buffer.concat(this.kept);
    this.kept = [];
    switch (this.expected) {
      case 'formatCount':
        this.expect('formats', 2 * value.readUInt16BE(0), false);
        return;
      case 'formats':
        this.expect('count', 2);
        return;
      case 'count':
        this.parameters = value.readUInt16BE(0);
        this.next();
        return;
      case 'length': {
        const length = value.readInt32BE(0);
        // NULL has none.
        if (length < 0) this.next();
        else this.expect('value', length, length <= this.bytesMax);
        return;
      }
      case 'value':
        if (this.isKept) this.onParameter(value.toString('latin1'));
        this.next();
        return;
      case 'portal':
      case 'statement':
      case 'end':
        return;
      default:
        this.expected satisfies never;
    }
  }

  private next(): void {
    if (this.parameters === 0) this.expected = 'end';
    else this.expect('length', 4);
    this.parameters -= 1;
  }
}
