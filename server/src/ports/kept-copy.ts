/**
 * A copy that a replica keeps of its own database: from there it goes on when what it has cannot be gone on from.
 *
 * Does nothing itself. Invariant: there is one whole copy, or none, whatever happens while another is made.
 */
import type { Slot } from '../multipaxos/types/names.ts';

/** `bytesKept`: of files that are those of the copy before. */
export interface MadeCopy {
  readonly slot: Slot;
  readonly bytesCopied: number;
  readonly bytesKept: number;
}

/** Its files are there; which slot it is a copy of is yet to come. Ends by `complete` or `giveUp`. */
export interface BegunCopy {
  /** Nothing is executed until it resolves; everything up to `slot` is executed, durably, and no transaction is open. */
  atRest(slot: Slot): Promise<void>;
  /** It takes the place of the one before. @throws Error: that is still there */
  complete(): Promise<MadeCopy>;
  giveUp(): Promise<void>;
}

export interface CopyMaker {
  /** `signal`: nobody wants it any more, for the database is about to go. @throws Error: none can be made now, such as for want of room */
  begin(signal: AbortSignal): Promise<BegunCopy>;
  readonly hasCopy: boolean;
  /** The database came up; if it goes on where the copy that is kept ends, that can go further. @throws Error: it does not */
  resume(): Promise<void>;
  /** The copy that is kept can become one of a later moment, at little cost. */
  readonly canGoFurther: boolean;
  /** Null: it cannot any more. @throws Error */
  further(): Promise<BegunCopy | null>;
  /** The database is there no more, or another one. */
  lost(): void;
}
