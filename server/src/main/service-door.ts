/**
 * The door for SQL clients, open before there is a replica behind it: while this one waits to be let into its group, clients are told so.
 *
 * Passes everything on to the replica's own agreement once that is there.
 */
import type { Agreement } from '../ports/agreement.ts';

export interface ServiceDoor extends Agreement {
  lead(to: Agreement): void;
}

export function createServiceDoor(partBytesMax: number, whyNot: () => string): ServiceDoor {
  let behind: Agreement | null = null;
  const listeners = new Set<Parameters<Agreement['onServiceChange']>[0]>();
  return {
    partBytesMax,
    lead(to) {
      behind = to;
      to.onServiceChange((service) => {
        for (const listener of listeners) listener(service);
      });
    },
    service: () => behind?.service() ?? { kind: 'nowhere', reason: whyNot() },
    onServiceChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    agree: (parts, generation) =>
      behind?.agree(parts, generation) ?? Promise.resolve({ code: 'notLeader', reason: whyNot() }),
    committed: (slot) => behind?.committed(slot),
    commitFailed: (slot, reason) => behind?.commitFailed(slot, reason),
    leaseHeld: (generation) => behind?.leaseHeld(generation) ?? false,
    awaitLease: (generation) => behind?.awaitLease(generation) ?? Promise.resolve(false),
    mark: (generation) => behind?.mark(generation) ?? null,
    outcomeOf: (proposed, waitMs) => behind?.outcomeOf(proposed, waitMs) ?? Promise.resolve('unknown'),
  };
}
