/** Agreement in memory: one replica that is the leader until a test says otherwise, and chooses what it is asked to. */
import type { TransactionPayload } from '../../../apply/effects.ts';
import type { ReplicaId, Slot } from '../../../multipaxos/types.ts';
import type {
  Agreement,
  AgreementOutcome,
  ProposedMark,
  Service,
  TransactionOutcome,
} from '../../../ports/agreement.ts';

export interface MemoryAgreement extends Agreement {
  /** What was chosen, in slot order; the parts of a large transaction together. */
  readonly chosen: { readonly slot: number; readonly parts: readonly TransactionPayload[] }[];
  readonly committedSlots: number[];
  readonly failed: { readonly slot: number; readonly reason: string }[];
  setService(service: Service): void;
  setLease(held: boolean): void;
  /** Decides instead of choosing at once. */
  decide: ((parts: readonly TransactionPayload[]) => Promise<AgreementOutcome>) | null;
  /** Takes this many parts of a transaction and then says that it is overloaded. */
  partsMax: number;
  choose(parts: readonly TransactionPayload[]): AgreementOutcome;
  /** What this replica is asked about, and what it answers. */
  readonly asked: ProposedMark[];
  known: (proposed: ProposedMark) => TransactionOutcome;
}

/** Never handed out twice, for several agreements in turn may serve one PostgreSQL. */
let lastSlot = 0;

export const createMemoryAgreement = (options: { readonly partBytesMax?: number } = {}): MemoryAgreement => {
  let service: Service = { kind: 'here', generation: 1 };
  const lease = { held: true };
  const listeners = new Set<(service: Service) => void>();
  const leaseWaiters = new Set<() => void>();

  const holds = (generation: number): boolean => service.kind === 'here' && service.generation === generation;
  const wakeWaiters = (): void => {
    for (const wake of leaseWaiters) wake();
    leaseWaiters.clear();
  };

  const agreement: MemoryAgreement = {
    chosen: [],
    committedSlots: [],
    failed: [],
    asked: [],
    known: () => 'unknown',
    decide: null,
    partsMax: Number.POSITIVE_INFINITY,
    partBytesMax: options.partBytesMax ?? 262_144,
    service: () => service,
    onServiceChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async agree(parts, generation) {
      const all: TransactionPayload[] = [];
      const pulled = parts[Symbol.asyncIterator]();
      for (;;) {
        const next = await pulled.next();
        if (next.done === true) break;
        all.push(next.value);
        if (all.length >= agreement.partsMax) {
          await pulled.return?.();
          return { code: 'overloaded', reason: 'a test' };
        }
      }
      if (!holds(generation)) return { code: 'notLeader', reason: 'leadership has ended' };
      return agreement.decide === null ? agreement.choose(all) : agreement.decide(all);
    },
    choose(parts) {
      lastSlot += 1;
      const slot = lastSlot;
      agreement.chosen.push({ slot, parts });
      return { code: 'chosen', slot: slot as Slot, label: `test/${slot}` };
    },
    committed: (slot) => void agreement.committedSlots.push(slot),
    commitFailed: (slot, reason) => void agreement.failed.push({ slot, reason }),
    mark: (generation) =>
      holds(generation)
        ? { leadership: { round: generation, replica: 'test' as ReplicaId }, above: lastSlot as Slot }
        : null,
    outcomeOf(proposed) {
      agreement.asked.push(proposed);
      return Promise.resolve(agreement.known(proposed));
    },
    leaseHeld: (generation) => lease.held && holds(generation),
    async awaitLease(generation) {
      while (holds(generation) && !lease.held) {
        await new Promise<void>((resolve) => {
          leaseWaiters.add(resolve);
        });
      }
      return holds(generation);
    },
    setService(next) {
      service = next;
      for (const listener of listeners) listener(next);
      wakeWaiters();
    },
    setLease(value) {
      lease.held = value;
      wakeWaiters();
    },
  };
  return agreement;
};
