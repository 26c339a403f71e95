/**
 * Keeps what a client has sent and has had no answer to, so that it can be sent to another leader.
 *
 * Responsible for: the bytes, by requests. Whether they may be sent again is settled by settlement.ts.
 * Bounded, for each client and for all: where there is no room, or where a COPY is among them, the bytes are not there (`all` is null) until the client is owed nothing.
 */
import type { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import { front } from '../../../pgwire/message-types.ts';
import type { KeptBudget } from './kept-budget.ts';

/** A Query, a FunctionCall, or all up to a Sync. */
interface Request {
  readonly parts: Buffer[];
  bytes: number;
  isWhole: boolean;
}

/** What a part costs beside its bytes: very many small ones, or a message that comes byte by byte, would take much more memory than they have bytes. */
export const partBytes = 256;

export class KeptRequests {
  private readonly bytesMax: number;
  private readonly budget: KeptBudget;
  private requests: Request[] = [];
  private bytes = 0;
  private incomplete = false;
  /** A part was taken from this chunk last, up to there: what follows at once is the same view. */
  private lastChunk: Buffer | null = null;
  private lastEnd = 0;

  constructor(bytesMax: number, budget: KeptBudget) {
    this.bytesMax = bytesMax;
    this.budget = budget;
  }

  /** In order; empty if nothing was sent; null if it was not kept. */
  get all(): readonly Buffer[] | null {
    return this.incomplete ? null : this.requests.flatMap(({ parts }) => parts);
  }

  /** A part of a message of the client. */
  sent(part: FrameSplitter, chunk: Buffer): void {
    if (this.incomplete) return;
    const { type, start, end, last } = part;
    // PostgreSQL passes over what belongs to no COPY.
    if (isOfCopy(type) && this.requests.length === 0) return;
    const open = this.requests.at(-1);
    const goesOn = open?.isWhole === false && this.lastChunk === chunk && this.lastEnd === start;
    const cost = end - start + (goesOn ? 0 : partBytes);
    if (isOfCopy(type) || cost + this.bytes > this.bytesMax || !this.budget.take(cost)) {
      this.spoil();
      return;
    }
    const request = this.current();
    this.bytes += cost;
    request.bytes += cost;
    const { parts } = request;
    const from = goesOn ? start - parts.at(-1)!.length : start;
    if (goesOn) parts.pop();
    parts.push(chunk.subarray(from, end));
    this.lastChunk = chunk;
    this.lastEnd = end;
    request.isWhole = last && endsRequest(type);
  }

  /** The client was told ReadyForQuery. `isIdle`: it is owed nothing more. */
  answered(isIdle: boolean): void {
    if (isIdle && this.incomplete) this.incomplete = false;
    const first = this.requests.shift();
    if (first !== undefined) this.giveBack(first.bytes);
    if (!isIdle) return;
    // What is left that is whole was not counted as a request: a Sync that a COPY has ignored.
    while (this.requests[0]?.isWhole === true) this.giveBack(this.requests.shift()!.bytes);
  }

  /** What comes from now on cannot be sent again, until the client is owed nothing. */
  spoil(): void {
    this.clear();
    this.incomplete = true;
  }

  /** All is answered in another way, but for what the client has begun (`isOpen`). */
  restart(isOpen: boolean): void {
    this.clear();
    this.incomplete = isOpen;
  }

  clear(): void {
    this.requests = [];
    this.lastChunk = null;
    this.giveBack(this.bytes);
  }

  private current(): Request {
    const last = this.requests.at(-1);
    if (last !== undefined && !last.isWhole) return last;
    const request = { parts: [], bytes: 0, isWhole: false };
    this.requests.push(request);
    return request;
  }

  private giveBack(bytes: number): void {
    this.bytes -= bytes;
    this.budget.giveBack(bytes);
  }
}

export function isOfCopy(type: number): boolean {
  return type === front.copyData || type === front.copyDone || type === front.copyFail;
}

function endsRequest(type: number): boolean {
  return type === front.query || type === front.sync || type === front.functionCall;
}
