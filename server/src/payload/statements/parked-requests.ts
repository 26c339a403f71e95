/**
 * Requests that wait for transactions of other sessions to end, and who waits for whom. Pure.
 *
 * Invariants: nobody waits, through whomever, for itself; at most `parkedMax` wait; who may go on is found in slot order.
 */

export interface Parked<Request> {
  readonly slot: number;
  readonly session: number;
  readonly request: Request;
  /** Sessions that hold what it waits for. */
  readonly holders: ReadonlySet<number>;
  /** It waits for the end of their transactions alone, whatever they hold behind that. */
  readonly isForEnd: boolean;
}

export const parkedMax = 256;

export class ParkedRequests<Request> {
  private parked: Parked<Request>[] = [];

  get size(): number {
    return this.parked.length;
  }

  of(session: number): Parked<Request> | undefined {
    return this.parked.find((one) => one.session === session);
  }

  /** `circle`: it would wait for itself. `full`: too many wait. */
  park(one: Parked<Request>): 'parked' | 'circle' | 'full' {
    if (this.leadsTo(one.holders, one.session)) return 'circle';
    if (this.parked.length >= parkedMax) return 'full';
    this.parked.push(one);
    this.parked.sort((a, b) => a.slot - b.slot);
    return 'parked';
  }

  /** Takes the first one that waits for a session which `holds` no more; undefined: there is none. */
  next(holds: (session: number, isForEnd: boolean) => boolean): Parked<Request> | undefined {
    const found = this.parked.find(({ holders, isForEnd }) =>
      [...holders].some((holder) => !holds(holder, isForEnd)),
    );
    if (found !== undefined) this.remove(found.session);
    return found;
  }

  remove(session: number): Parked<Request> | undefined {
    const found = this.of(session);
    this.parked = this.parked.filter((one) => one !== found);
    return found;
  }

  private leadsTo(holders: ReadonlySet<number>, session: number): boolean {
    const seen = new Set<number>();
    const open = [...holders];
    for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
      if (holder === session) return true;
      if (seen.has(holder)) continue;
      seen.add(holder);
      open.push(...(this.of(holder)?.holders ?? []));
    }
    return false;
  }
}
