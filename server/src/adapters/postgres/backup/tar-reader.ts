/**
 * Reads a tar as it comes, in pieces of any size: a header, then its data, then its padding, and so on to the two blocks of zeros at the end.
 *
 * Every byte before those is handed on exactly once, so that whoever reads can sum them up. Nothing is gathered but one header.
 */
import { blockBytes, decodeHeader, paddingAfter, TarError } from './tar-header.ts';
import type { TarHeader } from './tar-header.ts';

export type TarPiece =
  | { readonly kind: 'header'; readonly header: TarHeader; readonly raw: Buffer }
  | { readonly kind: 'data' | 'padding'; readonly raw: Buffer }
  /** The entry is complete. */
  | { readonly kind: 'done' };

/** @throws TarError if it is no such tar or ends too early */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarPiece> {
  const bytes = new ByteReader(source);
  try {
    for (;;) {
      const raw = await bytes.exactly(blockBytes);
      if (isZero(raw)) break;
      const header = decodeHeader(raw);
      yield { kind: 'header', header, raw };
      for (let left = header.size; left > 0; ) {
        const data = await bytes.some(left);
        left -= data.length;
        yield { kind: 'data', raw: data };
      }
      const padding = paddingAfter(header.size);
      if (padding > 0) {
        const zeros = await bytes.exactly(padding);
        if (!isZero(zeros)) throw new TarError(`the padding after ${header.path} is damaged`);
        yield { kind: 'padding', raw: zeros };
      }
      yield { kind: 'done' };
    }
    if (!isZero(await bytes.exactly(blockBytes))) throw new TarError('the end of the archive is damaged');
    if (!(await bytes.atEnd())) throw new TarError('there is more after the end of the archive');
  } finally {
    await bytes.close();
  }
}

class ByteReader {
  private readonly source: AsyncIterator<Buffer>;
  private chunk: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.source = source[Symbol.asyncIterator]();
  }

  async atEnd(): Promise<boolean> {
    while (this.chunk.length === 0) {
      const { value, done } = await this.source.next();
      if (done === true) return true;
      this.chunk = value;
    }
    return false;
  }

  /** At least one byte, at most `max`. */
  async some(max: number): Promise<Buffer> {
    if (await this.atEnd()) throw new TarError('the archive ends too early');
    const part = this.chunk.subarray(0, max);
    this.chunk = this.chunk.subarray(part.length);
    return part;
  }

  async exactly(count: number): Promise<Buffer> {
    const first = await this.some(count);
    if (first.length === count) return first;
    const parts = [first];
    for (let left = count - first.length; left > 0; ) {
      const part = await this.some(left);
      left -= part.length;
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  async close(): Promise<void> {
    await this.source.return?.();
  }
}

function isZero(block: Buffer): boolean {
  return block.every((byte) => byte === 0);
}
