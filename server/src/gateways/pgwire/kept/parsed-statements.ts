/**
 * The prepared statements of a session that its client has made by Parse messages, as far as PostgreSQL has confirmed them.
 *
 * Responsible for: their names and the bytes that make them again. Bounded: beyond it (`isOverfull`) the session cannot be moved.
 */
import type { KeptBudget } from './kept-budget.ts';

/** A Parse, or a Close of a statement or portal (`name` null), that is not answered. */
interface Pending {
  readonly name: string | null;
  /** Of a Parse. */
  readonly frame: Buffer | null;
  /** ReadyForQuery messages that come before its own, counted from the beginning of the session. */
  readonly position: number;
}

const pendingMax = 10_000;
const statementsMax = 2_000;

export class ParsedStatements {
  isOverfull = false;
  private readonly bytesMax: number;
  private readonly budget: KeptBudget;
  private readonly frames = new Map<string, Buffer>();
  private bytes = 0;
  private pending: Pending[] = [];

  constructor(bytesMax: number, budget: KeptBudget) {
    this.bytesMax = bytesMax;
    this.budget = budget;
  }

  /** By name; that without a name is the last one. */
  get all(): readonly (readonly [string, Buffer])[] {
    return [...this.frames].toSorted(([one], [other]) => Number(one === '') - Number(other === ''));
  }

  /** A whole Parse message; null: it was too long. */
  sentParse(name: string, frame: Buffer | null, position: number): void {
    if (frame === null) this.isOverfull = true;
    else this.wait({ name, frame: Buffer.from(frame), position });
  }

  /** `name`: of a statement; null: it was a portal. */
  sentClose(name: string | null, position: number): void {
    this.wait({ name, frame: null, position });
  }

  parseComplete(): void {
    const parsed = this.pending.shift();
    if (parsed?.frame != null && parsed.name !== null) this.have(parsed.name, parsed.frame);
  }

  /** PostgreSQL has this one. */
  have(name: string, frame: Buffer): void {
    this.forget(name);
    const { length } = frame;
    const fits = this.frames.size < statementsMax && this.bytes + length <= this.bytesMax;
    if (!fits || !this.budget.take(length)) {
      this.isOverfull = true;
      return;
    }
    this.bytes += length;
    this.frames.set(name, frame);
  }

  closeComplete(): void {
    const closed = this.pending.shift();
    if (closed?.frame === null && closed.name !== null) this.forget(closed.name);
  }

  /** So many ReadyForQuery messages were told: what was not confirmed of those requests has failed. */
  answered(position: number): void {
    while (this.pending.length > 0 && this.pending[0]!.position < position) this.pending.shift();
  }

  /** PostgreSQL has these and no others. */
  keepOnly(names: Pick<ReadonlySet<string>, 'has'>): void {
    for (const name of this.frames.keys()) if (name !== '' && !names.has(name)) this.forget(name);
  }

  forget(name: string): void {
    const frame = this.frames.get(name);
    if (frame === undefined) return;
    this.frames.delete(name);
    this.bytes -= frame.length;
    this.budget.giveBack(frame.length);
  }

  clear(): void {
    this.frames.clear();
    this.pending = [];
    this.budget.giveBack(this.bytes);
    this.bytes = 0;
  }

  private wait(pending: Pending): void {
    if (this.pending.length >= pendingMax) this.isOverfull = true;
    else this.pending.push(pending);
  }
}
