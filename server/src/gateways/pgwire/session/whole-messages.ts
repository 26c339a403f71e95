/**
 * Keeps back a message that has only begun until its rest is there. So whoever is told of the session's end in the middle of an answer, as when its process is ended while it sends rows, is told between two messages, and hears why.
 *
 * For clients of followers, whose gateway passes nothing else on (upstream-reader.ts). Bounded: a message of which `heldBytesMax` are there goes on in parts.
 */
import type { Told } from './outbox.ts';

const heldBytesMax = 16_384;
const partOnly: Told = { readies: 0, status: 'I', begun: true, atBoundary: false, saidFatal: false };

export class WholeMessages {
  private readonly emit: (bytes: Buffer, told: Told) => void;
  private held: Buffer[] = [];
  private heldBytes = 0;

  constructor(emit: (bytes: Buffer, told: Told) => void) {
    this.emit = emit;
  }

  /** `begins`: where in the chunk the message begins that is not whole at its end; null: in an earlier one, or it is whole. */
  pass(chunk: Buffer, told: Told, begins: number | null): void {
    if (told.atBoundary) this.tell(chunk, told);
    else if (begins !== null) {
      this.tell(chunk.subarray(0, begins), { ...toldOf(told), atBoundary: true });
      this.hold(chunk.subarray(begins));
    } else if (this.held.length > 0) this.hold(chunk);
    else this.emit(chunk, told);
  }

  /** Somebody else tells what follows. */
  flush(): void {
    if (this.held.length > 0) this.tell(null, partOnly);
  }

  private hold(bytes: Buffer): void {
    this.held.push(bytes);
    this.heldBytes += bytes.length;
    if (this.heldBytes >= heldBytesMax) this.flush();
  }

  /** What was held, and then the bytes. */
  private tell(bytes: Buffer | null, told: Told): void {
    const all = bytes === null || bytes.length === 0 ? this.held : [...this.held, bytes];
    this.held = [];
    this.heldBytes = 0;
    const last = all.length - 1;
    all.forEach((piece, index) => {
      const isLast = index === last;
      this.emit(piece, isLast ? told : partOnly);
    });
  }
}

function toldOf({ readies, status, begun, saidFatal }: Told): Omit<Told, 'atBoundary'> {
  return { readies, status, begun, saidFatal };
}
