/** For tests: what PostgreSQL's pages consist of, as far as judging them needs it: items, and in those of tables what is said of their transactions. */

export const normal = 1;
export const dead = 3;

export interface Item {
  readonly pointerAt: number;
  readonly at: number;
  readonly flags: number;
  readonly length: number;
}

export function itemsOf(page: Buffer): Item[] {
  const items: Item[] = [];
  for (let pointerAt = 24; pointerAt < page.readUInt16LE(12); pointerAt += 4) {
    const pointer = page.readUInt32LE(pointerAt);
    items.push({ pointerAt, at: pointer & 0x7fff, flags: (pointer >>> 15) & 3, length: pointer >>> 17 });
  }
  return items;
}

/** In an item of a table: where its flags are, and some of them. */
export const infomaskAt = 20;
export const xminFrozen = 0x0300;
export const xmaxInvalid = 0x0800;
export const firstNormalXid = 3;
