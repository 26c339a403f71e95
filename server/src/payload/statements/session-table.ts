/** Sessions that are open at this replica, and what they hold that others may have to wait for. */
import type { ClientSession } from './client-session.ts';
import type { SessionId } from './operation.ts';

export class SessionTable {
  private readonly byId = new Map<SessionId, ClientSession>();
  private readonly byNumber = new Map<number, ClientSession>();

  get size(): number {
    return this.byId.size;
  }

  add(session: ClientSession): void {
    this.byId.set(session.id, session);
    this.byNumber.set(session.number, session);
  }

  remove({ id, number }: ClientSession): void {
    this.byId.delete(id);
    this.byNumber.delete(number);
  }

  get(id: SessionId): ClientSession | undefined {
    return this.byId.get(id);
  }

  /** By the slot of its `open`. */
  numbered(number: number): ClientSession | undefined {
    return this.byNumber.get(number);
  }

  /** In the order in which they were opened. */
  all(): readonly ClientSession[] {
    return [...this.byId.values()];
  }

  ids(): Iterable<SessionId> {
    return this.byId.keys();
  }

  ofProcess(processId: number): number | undefined {
    return this.all().find(({ connection }) => connection.processId === processId)?.number;
  }

  /** Processes of all others at PostgreSQL. */
  processesBeside(session: ClientSession): readonly number[] {
    return this.all()
      .filter((one) => one !== session)
      .map(({ connection }) => connection.processId);
  }

  /** Those that hold what outlives their transactions. */
  bound(): readonly SessionId[] {
    return this.all()
      .filter(({ state }) => state.isBound)
      .map(({ id }) => id);
  }

  openTransactions(): number {
    return this.all().filter(isOpen).length;
  }

  holdersBeside(session: ClientSession): number {
    return this.all().filter((one) => one !== session && isHolding(one)).length;
  }

  /** Those whose open transactions may be SERIALIZABLE. */
  serializableBeside(session: ClientSession): ReadonlySet<number> {
    const beside = this.all().filter((one) => one !== session && one.isSerializable && isOpen(one));
    return new Set(beside.map(({ number }) => number));
  }

  /** `isForEnd`: in its transaction. */
  holds(number: number, isForEnd: boolean): boolean {
    const session = this.byNumber.get(number);
    return session !== undefined && (isForEnd ? isOpen(session) : isHolding(session));
  }

  get holdsNothing(): boolean {
    return this.all().every((one) => !isHolding(one));
  }
}

/** A failed block that still holds what an earlier part of it has done counts. */
function isOpen({ status, isHollow }: ClientSession): boolean {
  return status !== 'I' && !isHollow;
}

/** Others may have to wait for it, or a restart could not give it back. */
function isHolding(session: ClientSession): boolean {
  return isOpen(session) || session.state.isBound;
}
