/**
 * The prepared statements of a session that its client has made by Parse messages, as far as PostgreSQL has confirmed them.
 *
 * Responsible for: their names and the bytes that make them again. Bounded: beyond it (`isOverfull`) the session cannot be moved.
 */
import { headerBytes } from '../../../pgwire/frame-splitter.ts';
import type { KeptBudget } from './kept-budget.ts';

/** A Parse, or a Close of a statement or portal (`name` null), that is not answered. */
interface Pending {
  readonly isParse: boolean;
  readonly name: string | null;
  /** Of a Parse; null: there was no room for it. */
  readonly frame: Buffer | null;
  /** ReadyForQuery messages that come before its own, counted from the beginning of the session. */
  readonly position: number;
}

const backslash = 0x5c;
const pendingMax = 10_000;
export const statementsMax = 2_000;

export class ParsedStatements {
  isOverfull = false;
  private readonly bytesMax: number;
  private readonly budget: KeptBudget;
  private readonly frames = new Map<string, Buffer>();
  private bytes = 0;
  private pendingBytes = 0;
  private pending: Pending[] = [];
  /** Those that another session would read otherwise. */
  private readonly spoilt = new Set<string>();

  constructor(bytesMax: number, budget: KeptBudget) {
    this.bytesMax = bytesMax;
    this.budget = budget;
  }

  /** By name; that without a name is the last one. Not those that are spoilt. */
  get all(): readonly (readonly [string, Buffer])[] {
    const whole = [...this.frames].filter(([name]) => !this.spoilt.has(name));
    return whole.toSorted(([one], [other]) => Number(one === '') - Number(other === ''));
  }

  /** A backslash means something else from now on: what was parsed before keeps its meaning, which its bytes have lost. */
  spoilEscapes(): void {
    for (const [name, frame] of this.frames)
      if (frame.includes(backslash, headerBytes)) this.spoilt.add(name);
  }

  get isSpoilt(): boolean {
    return this.spoilt.size > 0;
  }

  /** Another session lacks these. */
  forgetSpoilt(): void {
    for (const name of this.spoilt) this.forget(name);
  }

  has(name: string): boolean {
    return this.frames.has(name);
  }

  /** The Parse message of one of them. */
  frameOf(name: string): Buffer | undefined {
    return this.frames.get(name);
  }

  /** A whole Parse message; null: it was too long. */
  sentParse(name: string, frame: Buffer | null, position: number): void {
    if (frame === null) {
      this.isOverfull = true;
      return;
    }
    const { length } = frame;
    const fits = this.pendingBytes + length <= this.bytesMax && this.budget.take(length);
    if (fits) this.pendingBytes += length;
    // Many of those without a name may be under way, of which the last counts: the session can do without.
    else if (name !== '') this.isOverfull = true;
    this.wait({ isParse: true, name, frame: fits ? Buffer.from(frame) : null, position });
  }

  /** `name`: of a statement; null: it was a portal. */
  sentClose(name: string | null, position: number): void {
    this.wait({ isParse: false, name, frame: null, position });
  }

  parseComplete(): void {
    const parsed = this.answeredOne();
    if (parsed?.isParse !== true || parsed.name === null) return;
    if (parsed.frame === null) this.forget(parsed.name);
    else this.have(parsed.name, parsed.frame);
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
    const closed = this.answeredOne();
    if (closed?.isParse === false && closed.name !== null) this.forget(closed.name);
  }

  /** So many ReadyForQuery messages were told: what was not confirmed of those requests has failed. */
  answered(position: number): void {
    while (this.pending.length > 0 && this.pending[0]!.position < position) this.answeredOne();
  }

  /** PostgreSQL has these and no others. */
  keepOnly(names: Pick<ReadonlySet<string>, 'has'>): void {
    for (const name of this.frames.keys()) if (name !== '' && !names.has(name)) this.forget(name);
  }

  forget(name: string): void {
    this.spoilt.delete(name);
    const frame = this.frames.get(name);
    if (frame === undefined) return;
    this.frames.delete(name);
    this.bytes -= frame.length;
    this.budget.giveBack(frame.length);
  }

  clear(): void {
    this.frames.clear();
    this.pending = [];
    this.budget.giveBack(this.bytes + this.pendingBytes);
    this.bytes = 0;
    this.pendingBytes = 0;
  }

  private wait(pending: Pending): void {
    this.pending.push(pending);
    if (this.pending.length <= pendingMax) return;
    this.isOverfull = true;
    this.giveBack(this.pending.pop());
  }

  private answeredOne(): Pending | undefined {
    const first = this.pending.shift();
    this.giveBack(first);
    return first;
  }

  private giveBack(pending: Pending | undefined): void {
    const bytes = pending?.frame?.length ?? 0;
    this.pendingBytes -= bytes;
    this.budget.giveBack(bytes);
  }
}
