/** How indexes name a row of their table: its page, the upper half first, and its place in there. */
export type VisitRow = (block: number, offset: number) => void;

export function rowAt(bytes: Buffer, at: number): { readonly block: number; readonly offset: number } {
  return { block: blockAt(bytes, at), offset: bytes.readUInt16LE(at + 4) };
}

export function visitRow(bytes: Buffer, at: number, visit: VisitRow): void {
  visit(blockAt(bytes, at), bytes.readUInt16LE(at + 4));
}

export function blockAt(bytes: Buffer, at: number): number {
  return bytes.readUInt16LE(at) * 0x1_0000 + bytes.readUInt16LE(at + 2);
}
