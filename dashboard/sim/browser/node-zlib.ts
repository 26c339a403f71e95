/** Of node:zlib the checksum of the log's records. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

/** As node:zlib has it: `before` is that of the bytes ahead of these. */
export function crc32(data: Uint8Array | string, before = 0): number {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  let value = ~before;
  for (const byte of bytes) value = table[(value ^ byte) & 0xff]! ^ (value >>> 8);
  return ~value >>> 0;
}
