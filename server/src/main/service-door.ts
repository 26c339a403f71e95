/**
 * The door for SQL clients, open before there is a replica behind it: while this one waits to be let into its group, clients are told so.
 *
 * Passes everything on to the replica's own service once that is there.
 */
import type { ClientService } from '../ports/client-service.ts';

export interface ServiceDoor extends ClientService {
  lead(to: ClientService): void;
}

export function createServiceDoor(whyNot: () => string): ServiceDoor {
  let behind: ClientService | null = null;
  const listeners = new Set<Parameters<ClientService['onServiceChange']>[0]>();
  const readListeners = new Set<() => void>();
  return {
    lead(to) {
      behind = to;
      to.onServiceChange((service) => {
        for (const listener of listeners) listener(service);
      });
      to.reads.onStandbyChange(() => {
        for (const listener of readListeners) listener();
      });
    },
    reads: {
      standby: () => behind?.reads.standby() ?? null,
      onStandbyChange(listener) {
        readListeners.add(listener);
        return () => readListeners.delete(listener);
      },
      beginRead: (life, freshness, waitMs) =>
        behind?.reads.beginRead(life, freshness, waitMs) ?? Promise.resolve({ code: 'over' }),
      awaitCurrent: (life, waitMs) =>
        behind?.reads.awaitCurrent(life, waitMs) ?? Promise.resolve({ code: 'over' }),
      mayTell: (life) => behind?.reads.mayTell(life) ?? false,
      awaitTold: (life, waitMs) => behind?.reads.awaitTold(life, waitMs) ?? Promise.resolve(false),
    },
    service: () => behind?.service() ?? { kind: 'nowhere', reason: whyNot() },
    onServiceChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    enter: (generation) => behind?.enter(generation) ?? (() => undefined),
    door: () => behind?.door() ?? null,
    mayAnswer: (generation) => behind?.mayAnswer(generation) ?? false,
    awaitAnswer: (generation) => behind?.awaitAnswer(generation) ?? Promise.resolve(false),
    distrust: () => behind?.distrust() ?? (() => undefined),
    barrier: (generation) => behind?.barrier(generation) ?? Promise.resolve(false),
    openTransactions: (pids, generation) =>
      behind?.openTransactions(pids, generation) ?? Promise.resolve(new Map()),
    cancel: (pid, generation) => behind?.cancel(pid, generation) ?? Promise.resolve('done'),
    outcomeOf: (transaction, waitMs) => behind?.outcomeOf(transaction, waitMs) ?? Promise.resolve('unknown'),
    outcomeOfRequest: (request, leadership, waitMs) =>
      behind?.outcomeOfRequest(request, leadership, waitMs) ?? Promise.resolve({ code: 'unknown' }),
    mayActElsewhere: (session, leadership, waitMs) =>
      behind?.mayActElsewhere(session, leadership, waitMs) ?? Promise.resolve(true),
    lookAtFunctions: (database, known, waitMs) =>
      behind?.lookAtFunctions(database, known, waitMs) ?? Promise.resolve(null),
    leadership: (generation) => behind?.leadership(generation) ?? null,
    prepareRequests: (database, generation) =>
      behind?.prepareRequests(database, generation) ?? Promise.reject(new Error(whyNot())),
  };
}
