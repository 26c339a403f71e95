/**
 * Headers of tar, in the one dialect that PostgreSQL writes (ustar): files and directories, names of up to 100 bytes, sizes in octal or, for large ones,
 * in base 256. Whatever else a tar may hold is refused, above all links and names that lead out of the directory.
 */
export const blockBytes = 512;

export interface TarHeader {
  /** Relative, of plain components, without a slash at the end. */
  readonly path: string;
  readonly kind: 'file' | 'directory';
  readonly size: number;
}

export class TarError extends Error {
  override readonly name = 'TarError';
}

export function paddingAfter(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

/** @throws TarError */
export function decodeHeader(block: Buffer): TarHeader {
  const sum = octal(block, 148, 8);
  if (sum !== checksum(block)) throw new TarError('the checksum of a header is wrong');
  const name = text(block, 0, 100);
  const prefix = text(block, 345, 155);
  const full = prefix === '' ? name : `${prefix}/${name}`;
  const type = String.fromCharCode(block[156] ?? 0);
  const path = safePath(full);
  if (type === '5') return { path, kind: 'directory', size: 0 };
  if (type === '0' || type === '\0') return { path, kind: 'file', size: number(block, 124, 12) };
  throw new TarError(`${path} is neither a file nor a directory (type ${JSON.stringify(type)})`);
}

/** Of a file that only its owner reads. */
export function encodeHeader(path: string, size: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  block.write(path, 0, 100);
  block.write('0000600\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  block.write(`${checksum(block).toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

function safePath(name: string): string {
  const path = name.startsWith('./') ? name.slice(2) : name;
  const plain = path.endsWith('/') ? path.slice(0, -1) : path;
  const wrong = plain.split('/').some((part) => part === '' || part === '.' || part === '..');
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (wrong || /[\\\u0000-\u001f]/.test(plain))
    throw new TarError(`the name ${JSON.stringify(name)} is not allowed`);
  return plain;
}

function text(block: Buffer, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? length : end);
}

function number(block: Buffer, at: number, length: number): number {
  if (((block[at] ?? 0) & 0x80) === 0) return octal(block, at, length);
  let value = (block[at] ?? 0) & 0x7f;
  for (let i = at + 1; i < at + length; i += 1) value = value * 256 + (block[i] ?? 0);
  if (!Number.isSafeInteger(value)) throw new TarError('a size is out of bounds');
  return value;
}

function octal(block: Buffer, at: number, length: number): number {
  const digits = text(block, at, length).trim();
  if (!/^[0-7]+$/.test(digits)) throw new TarError('a number in a header cannot be read');
  return Number.parseInt(digits, 8);
}

/** The sum of all bytes, the checksum's own taken for blanks. */
function checksum(block: Buffer): number {
  let sum = 8 * 32;
  for (let i = 0; i < blockBytes; i += 1) if (i < 148 || i >= 156) sum += block[i] ?? 0;
  return sum;
}
