/**
 * What this replica's database answered as a majority did (specs/AnswerAgreement.tla). Pure.
 *
 * A database that ends abruptly executes anew what it executed last, and a statement that slipped through the rules may answer otherwise then. Whoever holds what a majority answered notices that of itself, and tells it to another who answers otherwise.
 * Invariants: one answer for each slot, which no word of another replica changes; memory is bounded; `record` has the newest of those slots at which somebody answered otherwise, which are few, and are to outlive the process.
 */
export interface AnswerRecord {
  /** Slot and digest, oldest first. */
  readonly held: readonly (readonly [number, string])[];
  /** This database has lost what it held at the slot; null: it has not. */
  readonly standsAt: number | null;
}

export const noAnswers: AnswerRecord = { held: [], standsAt: null };

const recordedMax = 1_000;

export class HeldAnswers {
  private readonly slotsMax: number;
  private readonly held = new Map<number, string>();
  private readonly disputed = new Map<number, string>();
  /** By slot: which other replica says that it holds something else. */
  private readonly heldElsewhere = new Map<number, Map<string, string>>();
  private standsAtSlot: number | null;

  constructor(slotsMax: number, record: AnswerRecord = noAnswers) {
    this.slotsMax = slotsMax;
    for (const [slot, digest] of record.held) this.disputed.set(slot, digest);
    this.standsAtSlot = record.standsAt;
  }

  get record(): AnswerRecord {
    return { held: [...this.disputed], standsAt: this.standsAtSlot };
  }

  get standsAt(): number | null {
    return this.standsAtSlot;
  }

  at(slot: number): string | undefined {
    return this.held.get(slot) ?? this.disputed.get(slot);
  }

  /** True: it is not in the record as yet. */
  hold(slot: number, digest: string, isDisputed: boolean): boolean {
    this.held.set(slot, digest);
    dropOldest(this.held, this.slotsMax);
    if (!isDisputed || this.disputed.has(slot)) return false;
    this.disputed.set(slot, digest);
    dropOldest(this.disputed, recordedMax);
    return true;
  }

  /** Another replica holds something else where this one holds what it answered. Returns who all hold the same as that one. */
  heldOtherwise(replica: string, slot: number, digest: string): readonly string[] {
    const all = this.heldElsewhere.get(slot) ?? new Map<string, string>();
    all.set(replica, digest);
    this.heldElsewhere.set(slot, all);
    dropOldest(this.heldElsewhere, recordedMax);
    return [...all].filter(([, other]) => other === digest).map(([other]) => other);
  }

  /** This database has lost it, and others with it that come behind. */
  stand(slot: number): void {
    this.standsAtSlot = Math.min(slot, this.standsAtSlot ?? slot);
  }

  /** All go on from this database, or another one has taken its place: what was held up to the slot is of no use. True: the record has changed. */
  settle(slot: number): boolean {
    const { size } = this.disputed;
    const stood = this.standsAtSlot !== null && this.standsAtSlot <= slot;
    if (stood) this.standsAtSlot = null;
    for (const all of [this.held, this.disputed, this.heldElsewhere])
      for (const one of all.keys()) if (one <= slot) all.delete(one);
    return stood || this.disputed.size < size;
  }
}

function dropOldest(all: Map<number, unknown>, max: number): void {
  for (const oldest of all.keys()) {
    if (all.size <= max) return;
    all.delete(oldest);
  }
}
