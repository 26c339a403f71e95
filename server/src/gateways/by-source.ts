/**
 * What connections of different sources wait for or hold, so that one source with many connections, or one network with many sources, costs the others nothing.
 *
 * Responsible for: whose turn is next, and which connection makes room. A source is a client's address; of IPv6 the network of 64 bits, since one machine has a whole one.
 * Networks take turns, within one of them its parts, and so on down to the sources: who has a whole network has one turn of it. Within a source the newest and the oldest are next by turns: the newest is served soon
 * though many wait, and no arrivals keep the oldest waiting for ever. Pure.
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

/** The networks that a source is in, the widest first, and the source: of IPv4 those of 16 and 24 bits, of IPv6 those of 48 and 56, as providers hand them out. */
function placesOf(source: string): readonly string[] {
  const v4 = source.split('.');
  if (v4.length === 4) return [v4.slice(0, 2).join('.'), v4.slice(0, 3).join('.'), source];
  const v6 = source.split(':');
  if (v6.length < 4) return [source];
  const site = v6.slice(0, 3).join(':');
  return [site, `${site}:${Number.parseInt(v6[3]!, 16) >> 8}`, source];
}

/** A network, or a source, which has a line in place of parts. */
class Place<T> {
  /** In the order of their turns. None is empty. */
  readonly parts = new Map<string, Place<T>>();
  /** The oldest is first. */
  line: T[] = [];
  isOldestNext = false;
  size = 0;
}

export class BySource<T> {
  private readonly root = new Place<T>();

  get size(): number {
    return this.root.size;
  }

  add(source: string, one: T): void {
    let place = this.root;
    place.size += 1;
    for (const name of placesOf(source)) {
      let part = place.parts.get(name);
      if (part === undefined) place.parts.set(name, (part = new Place()));
      place = part;
      place.size += 1;
    }
    place.line.push(one);
  }

  /** Nothing happens if it is not there. */
  delete(source: string, one: T): void {
    const names = placesOf(source);
    const places: Place<T>[] = [this.root];
    for (const name of names) {
      const part = places.at(-1)!.parts.get(name);
      if (part === undefined) return;
      places.push(part);
    }
    const { line } = places.at(-1)!;
    const at = line.lastIndexOf(one);
    if (at < 0) return;
    line.splice(at, 1);
    for (const [depth, place] of places.entries()) {
      place.size -= 1;
      if (place.size === 0 && depth > 0) places[depth - 1]!.parts.delete(names[depth - 1]!);
    }
  }

  /** Takes out all others. */
  retain(keeps: (one: T) => boolean): void {
    retainIn(this.root, keeps);
  }

  /** Takes out the next one of the source whose turn it is. */
  takeNext(): T | undefined {
    return this.size === 0 ? undefined : takeFrom(this.root);
  }

  /** The oldest of the source that has most, in the network that has most. */
  oldestOfCrowd(): T | undefined {
    let place = this.root;
    while (place.parts.size > 0) {
      let crowd: Place<T> | null = null;
      for (const part of place.parts.values()) if (part.size > (crowd?.size ?? 0)) crowd = part;
      place = crowd!;
    }
    return place.line[0];
  }
}

function takeFrom<T>(place: Place<T>): T {
  place.size -= 1;
  const [turn] = place.parts;
  if (turn === undefined) {
    const next = place.isOldestNext ? place.line.shift() : place.line.pop();
    place.isOldestNext = !place.isOldestNext;
    return next!;
  }
  const [name, part] = turn;
  const next = takeFrom(part);
  place.parts.delete(name);
  if (part.size > 0) place.parts.set(name, part);
  return next;
}

function retainIn<T>(place: Place<T>, keeps: (one: T) => boolean): void {
  place.line = place.line.filter(keeps);
  place.size = place.line.length;
  for (const [name, part] of place.parts) {
    retainIn(part, keeps);
    place.size += part.size;
    if (part.size === 0) place.parts.delete(name);
  }
}
