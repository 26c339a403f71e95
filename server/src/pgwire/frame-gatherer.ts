/** Puts one message together whose parts come in different chunks. Pure; copies only what is spread. */
import type { FrameSplitter } from './frame-splitter.ts';

export class FrameGatherer {
  private readonly bytesMax: number;
  private parts: Buffer[] = [];
  private bytes = 0;

  /** Of a longer message only the beginning is kept. */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** The next part, which the splitter stands at. The message when this was its last part, else null; a view of the chunk if it lies within that. */
  add({ start, end, first, last }: FrameSplitter, chunk: Buffer): Buffer | null {
    if (first && last) return chunk.subarray(start, Math.min(end, start + this.bytesMax));
    const room = this.bytesMax - this.bytes;
    if (room > 0) {
      const part = Buffer.from(chunk.subarray(start, Math.min(end, start + room)));
      this.parts.push(part);
      this.bytes += part.length;
    }
    if (!last) return null;
    const message = Buffer.concat(this.parts);
    this.parts = [];
    this.bytes = 0;
    return message;
  }
}
