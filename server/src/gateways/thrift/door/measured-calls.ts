/** What the Thrift gateway counts. Pure. Invariant: the labels are bounded, by the methods that there are and by SQLSTATEs up to a number. */
import type { ThriftMeasures } from '../../../api/measures.ts';
import type { SqlError } from '../sql/sql-error.ts';

const statesMax = 100;
const otherStates = 'other';

export class MeasuredCalls {
  broken = 0;
  private readonly requests = new Map<string, number>();
  private readonly errors = new Map<string, number>();

  note(method: string, error: SqlError | null): void {
    raise(this.requests, method);
    if (error === null) return;
    const isKnown = this.errors.has(error.sqlState) || this.errors.size < statesMax;
    raise(this.errors, isKnown ? error.sqlState : otherStates);
  }

  measures(now: Pick<ThriftMeasures, 'connections' | 'sessions'>): ThriftMeasures {
    return { ...now, requests: this.requests, errors: this.errors, broken: this.broken };
  }
}

function raise(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
