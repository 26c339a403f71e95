/**
 * How often one address may show a wrong token.
 *
 * Responsible for: counting, with a bound on what is remembered. Knows no tokens, and holds up wrong ones alone: right ones are not asked about. Invariant: an address that has shown none for a while is never held up.
 */

/** So many at once, and then one a second. */
const atOnceMax = 10;
const refillMs = 1000;
const addressesMax = 1024;

interface Bucket {
  left: number;
  atMs: number;
}

export class WrongTokens {
  private readonly nowMs: () => number;
  /** In the order in which they were last seen. */
  private readonly buckets = new Map<string, Bucket>();

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  /** How many seconds the address has to wait before another wrong token of its counts as one; 0: none. */
  waitSeconds(address: string | undefined): number {
    const { left } = this.bucket(networkOf(address));
    return left >= 1 ? 0 : Math.ceil(((1 - left) * refillMs) / 1000);
  }

  wrong(address: string | undefined): void {
    const network = networkOf(address);
    const bucket = this.bucket(network);
    this.buckets.delete(network);
    this.buckets.set(network, { ...bucket, left: Math.max(0, bucket.left - 1) });
    if (this.buckets.size <= addressesMax) return;
    const [oldest] = this.buckets.keys();
    if (oldest !== undefined) this.buckets.delete(oldest);
  }

  private bucket(network: string): Bucket {
    const nowMs = this.nowMs();
    const known = this.buckets.get(network);
    if (known === undefined) return { left: atOnceMax, atMs: nowMs };
    return { left: Math.min(atOnceMax, known.left + (nowMs - known.atMs) / refillMs), atMs: nowMs };
  }
}

/** Of IPv6 its first 64 bits: whoever has one such address has all of them. */
function networkOf(address: string | undefined): string {
  if (address === undefined) return '?';
  const [plain = ''] = address.replace(/^::ffff:/i, '').split('%', 1);
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - front.length - back.length }, () => '0');
  return [...front, ...zeros, ...back].slice(0, 4).join(':');
}
