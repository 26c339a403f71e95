/**
 * Requests that have come and are not executed yet: parked, for they wait for another session; held back, for they would begin a transaction in a pause; or behind one of these in their session. Pure.
 *
 * Invariant: of each session one is parked or held back, and all that have come since are behind it.
 */
import type { ClientSession } from './client-session.ts';
import { HeldRequests } from './held-requests.ts';
import { keyOf, type RequestOperation } from './operation.ts';
import { ParkedRequests } from './parked-requests.ts';
import type { SessionTable } from './session-table.ts';

/** Its own slot. */
export type SlotRequest = readonly [slot: number, request: RequestOperation];

export class WaitingRequests {
  readonly parked = new ParkedRequests<RequestOperation>();
  readonly held = new HeldRequests();

  /** Of sessions, but for those behind. */
  get size(): number {
    return this.parked.size + this.held.size;
  }

  has({ number }: ClientSession): boolean {
    return this.of(number) !== undefined;
  }

  /** The same request has come, and its result is still to come. */
  isComing({ number, queued }: ClientSession, request: RequestOperation): boolean {
    const coming = queued.map(([, one]) => one);
    const first = this.of(number);
    if (first !== undefined) coming.push(first.request);
    return coming.some((one) => keyOf(one) === keyOf(request));
  }

  /** It waits no more; those behind it do. */
  remove({ number }: ClientSession): SlotRequest | null {
    const found = this.parked.remove(number) ?? this.held.remove(number);
    return found === undefined ? null : [found.slot, found.request];
  }

  /** None of the session waits any more. */
  removeAll(session: ClientSession): readonly SlotRequest[] {
    const first = this.remove(session);
    return [...(first === null ? [] : [first]), ...session.queued.splice(0)];
  }

  /** With what is behind it in the same session; in slot order. */
  heldBack(sessions: SessionTable): readonly SlotRequest[] {
    return this.held
      .all()
      .flatMap(({ slot, number, request }) =>
        [[slot, request] as SlotRequest].concat(sessions.numbered(number)?.queued ?? []),
      )
      .toSorted(([one], [other]) => one - other);
  }

  private of(number: number): { readonly request: RequestOperation } | undefined {
    return this.parked.of(number) ?? this.held.of(number);
  }
}
