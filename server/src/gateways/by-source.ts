/**
 * What connections of different sources wait for or hold, so that one source with many connections costs the others nothing.
 *
 * Responsible for: whose turn is next, and which connection makes room. A source is a client's address; of IPv6 the network of 64 bits, since one machine has a whole one.
 * The sources take turns. Within a source the newest and the oldest are next by turns: the newest is served soon though many wait, and no arrivals keep the oldest waiting for ever. Pure.
 */
import { isIPv6 } from 'node:net';

/** Empty: the address is not known. */
export function sourceOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address.replace(/^::ffff:/, '');
  const [head = '', tail = ''] = address.split('%')[0]!.split('::');
  const before = head === '' ? [] : head.split(':');
  const behind = tail === '' ? [] : tail.split(':');
  const between = Math.max(0, 8 - before.length - behind.length);
  const groups = [...before, ...Array.from({ length: between }, () => '0'), ...behind];
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** What one source waits for: the oldest is first. */
interface Line<T> {
  list: T[];
  isOldestNext: boolean;
}

export class BySource<T> {
  /** In the order of their turns. No list is empty. */
  private readonly sources = new Map<string, Line<T>>();
  private counted = 0;

  get size(): number {
    return this.counted;
  }

  add(source: string, one: T): void {
    const line = this.sources.get(source);
    if (line === undefined) this.sources.set(source, { list: [one], isOldestNext: false });
    else line.list.push(one);
    this.counted += 1;
  }

  /** Nothing happens if it is not there. */
  delete(source: string, one: T): void {
    const list = this.sources.get(source)?.list;
    const at = list?.lastIndexOf(one) ?? -1;
    if (list === undefined || at < 0) return;
    list.splice(at, 1);
    this.counted -= 1;
    if (list.length === 0) this.sources.delete(source);
  }

  /** Takes out all others. */
  retain(keeps: (one: T) => boolean): void {
    for (const [source, line] of this.sources) {
      const kept = line.list.filter(keeps);
      this.counted -= line.list.length - kept.length;
      line.list = kept;
      if (kept.length === 0) this.sources.delete(source);
    }
  }

  /** Takes out the next one of the source whose turn it is. */
  takeNext(): T | undefined {
    const [turn] = this.sources;
    if (turn === undefined) return undefined;
    const [source, line] = turn;
    const next = line.isOldestNext ? line.list.shift() : line.list.pop();
    line.isOldestNext = !line.isOldestNext;
    this.counted -= 1;
    this.sources.delete(source);
    if (line.list.length > 0) this.sources.set(source, line);
    return next;
  }

  /** The oldest of the source that has most; `newcomer` is preferred where it has more than its share, which is quick to see. */
  oldestOfCrowd(newcomer?: string): T | undefined {
    const own = newcomer === undefined ? undefined : this.sources.get(newcomer)?.list;
    if (own !== undefined && own.length * this.sources.size > this.counted) return own[0];
    let crowd: T[] = [];
    for (const { list } of this.sources.values()) if (list.length > crowd.length) crowd = list;
    return crowd[0];
  }
}
