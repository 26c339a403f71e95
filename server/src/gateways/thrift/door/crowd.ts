/**
 * How many connections there may be, and how many bytes they may have under way: those of strangers apart from those of clients that have shown a handle, so that strangers keep nobody out.
 *
 * Pure.
 */
import { Budget } from '../sql/budget.ts';
import type { ThriftLimits } from '../limits.ts';

/** A connection, to the crowd. */
export interface CrowdMember {
  end(why: string): void;
}

export class Crowd {
  readonly strangers = new Set<CrowdMember>();
  readonly members = new Set<CrowdMember>();
  private readonly limits: ThriftLimits;
  private readonly strangerBytes: Budget;
  private readonly memberBytes: Budget;

  constructor(limits: ThriftLimits) {
    this.limits = limits;
    this.strangerBytes = new Budget(limits.strangerBytesInAllMax);
    this.memberBytes = new Budget(limits.requestBytesInAllMax);
  }

  enter(one: CrowdMember): void {
    const [oldest] = this.strangers;
    if (this.strangers.size >= this.limits.strangersMax) oldest?.end('there are too many that say nothing');
    this.strangers.add(one);
  }

  /** It has shown a handle. False: there is no room. */
  become(one: CrowdMember): boolean {
    if (this.members.has(one)) return true;
    if (this.members.size >= this.limits.membersMax) return false;
    this.strangers.delete(one);
    this.members.add(one);
    return true;
  }

  /** What it has called is being done: it is not one that says nothing. */
  rest(one: CrowdMember): void {
    this.strangers.delete(one);
  }

  leave(one: CrowdMember): void {
    this.strangers.delete(one);
    this.members.delete(one);
  }

  budgetOf(one: CrowdMember): Budget {
    return this.members.has(one) ? this.memberBytes : this.strangerBytes;
  }
}
