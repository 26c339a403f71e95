/** Numbers as PostgreSQL writes them on the machines that Barista runs on: little-endian. Pure. Nothing is checked: whoever calls has the bytes. */

export function readU16(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8);
}

export function readU32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

/** Exact up to 2^53. A larger number is garbage here, and comes out as a large one. */
export function readU64(bytes: Uint8Array, at: number): number {
  return readU32(bytes, at) + readU32(bytes, at + 4) * 2 ** 32;
}

/** Exact between -2^53 and 2^53. */
export function readI64(bytes: Uint8Array, at: number): number {
  return readU32(bytes, at) + (readU32(bytes, at + 4) | 0) * 2 ** 32;
}
