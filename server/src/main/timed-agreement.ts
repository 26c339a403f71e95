/**
 * Measures the gateway's transactions: from the moment it asks for agreement to its COMMIT in PostgreSQL.
 *
 * Changes nothing about the agreement. Invariant: what is remembered is bounded, even if a commit is never reported.
 */
import type { LatencyObserver } from '../gateways/http/metrics.ts';
import type { Agreement } from '../ports/agreement.ts';
import type { Clock } from '../ports/clock.ts';

const rememberedMax = 10_000;

export function timedAgreement(inner: Agreement, clock: Clock, latencies: LatencyObserver): Agreement {
  const askedAtMs = new Map<number, number>();
  return {
    partBytesMax: inner.partBytesMax,
    service: () => inner.service(),
    onServiceChange: (listener) => inner.onServiceChange(listener),
    leaseHeld: (generation) => inner.leaseHeld(generation),
    awaitLease: (generation) => inner.awaitLease(generation),
    mark: (generation) => inner.mark(generation),
    outcomeOf: (proposed, waitMs) => inner.outcomeOf(proposed, waitMs),
    async agree(parts, generation) {
      const startedAtMs = clock.nowMs();
      const outcome = await inner.agree(parts, generation);
      if (outcome.code === 'chosen' && askedAtMs.size < rememberedMax)
        askedAtMs.set(outcome.slot, startedAtMs);
      return outcome;
    },
    committed(slot) {
      inner.committed(slot);
      const startedAtMs = askedAtMs.get(slot);
      askedAtMs.delete(slot);
      if (startedAtMs !== undefined) latencies.transaction(clock.nowMs() - startedAtMs);
    },
    commitFailed(slot, reason) {
      askedAtMs.delete(slot);
      inner.commitFailed(slot, reason);
    },
  };
}
