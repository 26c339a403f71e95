/**
 * Requests that a pause holds back, for they would begin a transaction: in slot order, each of another session. Pure.
 *
 * Invariant: what is held back is bounded in bytes; beyond that nobody waits for the moment that the pause was to bring.
 */
import type { RequestOperation } from './operation.ts';

export interface Held {
  readonly slot: number;
  /** Of the session. */
  readonly number: number;
  readonly request: RequestOperation;
}

/** They are written down at the moment of rest. */
const bytesMax = 8 * 1024 * 1024;

export class HeldRequests {
  /** Of the pause that is under way; null: there is none. */
  pausing: string | null = null;
  private held: Held[] = [];

  get size(): number {
    return this.held.length;
  }

  get isFull(): boolean {
    return this.held.reduce((sum, { request }) => sum + request.bytes.length, 0) > bytesMax;
  }

  /** It may have waited for something else before, and so come behind others of later slots. */
  hold(one: Held): void {
    this.held.push(one);
    this.held.sort((a, b) => a.slot - b.slot);
  }

  of(number: number): Held | undefined {
    return this.held.find((one) => one.number === number);
  }

  /** The first one, which is held back no more. */
  take(): Held | undefined {
    return this.held.shift();
  }

  remove(number: number): Held | undefined {
    const found = this.of(number);
    this.held = this.held.filter((one) => one !== found);
    return found;
  }

  all(): readonly Held[] {
    return this.held;
  }
}
