/**
 * The replica as a gateway sees it, in memory, around a real PostgreSQL: the leader until a test says otherwise. For tests and benchmarks.
 *
 * Answers may leave while nothing is distrusted and the test does not hold them; `awaitAnswer` and `barrier` resolve when the test lets them.
 */
import type { FunctionsLook } from '../../../ports/client-functions.ts';
import type { Ballot, ReplicaId } from '../../../multipaxos/types/names.ts';
import type {
  ClientService,
  NamedRequest,
  OpenTransaction,
  PostgresDoor,
  RequestOutcome,
  Service,
  TransactionOutcome,
} from '../../../ports/client-service.ts';
import type { Currency, Freshness } from '../../../ports/standby-reads.ts';

export interface MemoryClientService extends ClientService {
  setService(service: Service): void;
  setDoor(door: PostgresDoor | null): void;
  /** What is read at, in another life than before. */
  setStandby(door: PostgresDoor | null): void;
  mayRead: (life: number, freshness: Freshness) => Promise<Currency>;
  /** Null: what has been read may be told at once. */
  tells: ((life: number, waitMs: number) => Promise<boolean>) | null;
  /** From now on answers wait; `letGo` releases those that wait, and all others. */
  holdAnswers(): void;
  letGo(): void;
  /** Sessions that are distrusted now. */
  readonly distrusted: number;
  /** How often each was called. */
  readonly calls: {
    mayAnswer: number;
    awaitAnswer: number;
    barrier: number;
    openTransactions: number;
    cancel: number;
  };
  /** Open transactions that it has told of. */
  readonly told: OpenTransaction[];
  /** What it was asked for outcomes. */
  readonly asked: (OpenTransaction | NamedRequest)[];
  /** What it answers. */
  outcome: TransactionOutcome;
  requestOutcome: RequestOutcome;
  /** What `mayActElsewhere` says. */
  actsElsewhere: boolean;
  functionsOf: (database: string, known: string | null) => Promise<FunctionsLook | null>;
  transactionsOf: (pids: readonly number[]) => Promise<ReadonlyMap<number, bigint>>;
  cancelBackend: (pid: number) => Promise<'done' | 'committing'>;
  prepare: (database: string) => Promise<void>;
}

const self = 'test' as ReplicaId;

export function createMemoryClientService(door: PostgresDoor | null): MemoryClientService {
  let service: Service = { kind: 'here', generation: 1 };
  let theDoor = door;
  const answers = { held: false };
  let distrusted = 0;
  const listeners = new Set<(service: Service) => void>();
  let theStandby: PostgresDoor | null = null;
  let standbyLife = 1;
  const standbyListeners = new Set<() => void>();
  const waiting = new Set<() => void>();

  function serves(generation: number): boolean {
    if (service.kind === 'here') return service.generation === generation;
    return service.kind === 'nowhere' && service.drains === generation;
  }

  function leadership(generation: number): Ballot | null {
    return serves(generation) ? { round: generation, replica: self } : null;
  }

  /** Behind a barrier, which a test may hold. */
  async function untilAllowed(generation: number): Promise<boolean> {
    while (answers.held && serves(generation)) {
      await new Promise<void>((resolve) => {
        waiting.add(resolve);
      });
    }
    return serves(generation);
  }

  function wake(): void {
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  const memory: MemoryClientService = {
    calls: { mayAnswer: 0, awaitAnswer: 0, barrier: 0, openTransactions: 0, cancel: 0 },
    told: [],
    asked: [],
    outcome: 'unknown',
    requestOutcome: { code: 'unknown' },
    actsElsewhere: false,
    functionsOf: () => Promise.resolve(null),
    transactionsOf: () => Promise.resolve(new Map()),
    cancelBackend: () => Promise.resolve('done'),
    prepare: () => Promise.resolve(),
    enter: () => () => undefined,
    get distrusted() {
      return distrusted;
    },
    reads: {
      standby: () => (theStandby === null ? null : { ...theStandby, life: standbyLife }),
      onStandbyChange(listener) {
        standbyListeners.add(listener);
        return () => standbyListeners.delete(listener);
      },
      awaitCurrent: (life) => memory.mayRead(life, { kind: 'linearizable' }),
      beginRead: (life, freshness) => memory.mayRead(life, freshness),
      mayTell: (life) => life === standbyLife && memory.tells === null,
      awaitTold: (life, waitMs) => memory.tells?.(life, waitMs) ?? Promise.resolve(life === standbyLife),
    },
    tells: null,
    mayRead: (life) => Promise.resolve({ code: life === standbyLife ? 'current' : 'over' }),
    setStandby(next) {
      theStandby = next;
      standbyLife += 1;
      for (const listener of standbyListeners) listener();
    },
    service: () => service,
    door: () => theDoor,
    onServiceChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    mayAnswer(generation) {
      memory.calls.mayAnswer += 1;
      return serves(generation) && !answers.held && distrusted === 0;
    },
    async awaitAnswer(generation) {
      memory.calls.awaitAnswer += 1;
      // As long as a commit takes.
      await new Promise((resolve) => setTimeout(resolve, 1));
      return untilAllowed(generation);
    },
    distrust() {
      distrusted += 1;
      let lost = true;
      return () => {
        if (lost) distrusted -= 1;
        lost = false;
      };
    },
    barrier(generation) {
      memory.calls.barrier += 1;
      return untilAllowed(generation);
    },
    async openTransactions(pids, generation) {
      memory.calls.openTransactions += 1;
      const ballot = leadership(generation);
      const found = await memory.transactionsOf(pids);
      if (ballot === null) return new Map();
      const open = new Map([...found].map(([pid, xid]) => [pid, { leadership: ballot, xid }]));
      memory.told.push(...open.values());
      return open;
    },
    cancel(pid) {
      memory.calls.cancel += 1;
      return memory.cancelBackend(pid);
    },
    outcomeOf(transaction) {
      memory.asked.push(transaction);
      return Promise.resolve(memory.outcome);
    },
    outcomeOfRequest(request) {
      memory.asked.push(request);
      return Promise.resolve(memory.requestOutcome);
    },
    mayActElsewhere: () => Promise.resolve(memory.actsElsewhere),
    lookAtFunctions: (database, known) => memory.functionsOf(database, known),
    leadership,
    prepareRequests: (database) => memory.prepare(database),
    setService(next) {
      service = next;
      for (const listener of listeners) listener(next);
      wake();
    },
    setDoor(next) {
      theDoor = next;
    },
    holdAnswers() {
      answers.held = true;
    },
    letGo() {
      answers.held = false;
      wake();
    },
  };
  return memory;
}
