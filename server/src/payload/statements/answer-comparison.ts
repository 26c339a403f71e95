/**
 * Who differs: what each replica's database answered to an operation, told as digests, and what follows from them. Pure.
 *
 * A digest that a majority of the voters has is right, and whoever differs from it is wrong. Where some differ and no majority has said the same, nobody who has told can be shown right: all of them are in doubt, until others have told. Who had a majority's digest holds it from then on (held-answers.ts), whatever others say
 * who execute the operation anew, and tells it to them; one whose own database answers otherwise then has lost it (specs/AnswerAgreement.tla).
 * Invariants: each slot is judged by what was told last by each; a replica that has a majority's digest is never called wrong for that slot; memory is bounded: of slots older than the newest `slotsMax` nothing is kept, and doubt about them stays.
 */
import { type AnswerRecord, HeldAnswers } from './held-answers.ts';

export interface Digests {
  readonly slot: number;
  readonly digest: string;
}

/**
 * `lost`: it held another answer, or, `isHeldElsewhere`, another replica does.
 * `wrong`: who has what the majority has is in `equal`. `doubt`: `isFinal`: all voters have told, and no further word will help; `claimant`: whose database is to go on, if any must: the first of those that are equal to most others.
 */
export type Verdict =
  | { readonly code: 'right' }
  | { readonly code: 'lost'; readonly slot: number; readonly isHeldElsewhere: boolean }
  | { readonly code: 'wrong'; readonly slot: number; readonly equal: readonly string[] }
  | {
      readonly code: 'doubt';
      readonly slot: number;
      readonly differing: readonly string[];
      readonly isFinal: boolean;
      readonly claimant: string;
    };

export interface ComparisonOptions {
  readonly self: string;
  readonly voters: () => readonly string[];
  readonly slotsMax: number;
  /** Of an earlier process. */
  readonly record?: AnswerRecord;
  /** `record` is another one. */
  readonly onRecord?: () => void;
  /** The replica has answered otherwise than this one holds. */
  readonly onOtherwise?: (replica: string, held: Digests) => void;
}

const right: Verdict = { code: 'right' };

export class AnswerComparison {
  private readonly options: ComparisonOptions;
  /** In the order of slots as they were first told, by whomever. */
  private readonly told = new Map<number, Map<string, string>>();
  private readonly held: HeldAnswers;
  private readonly doubts = new Map<number, Extract<Verdict, { code: 'doubt' }>>();
  /** By other replica: the newest slot that it has told of. Up to there it has executed everything. */
  private readonly heardBy = new Map<string, number>();
  private newest = 0;
  private settledTo = 0;

  constructor(options: ComparisonOptions) {
    this.options = options;
    this.held = new HeldAnswers(options.slotsMax, options.record);
  }

  get record(): AnswerRecord {
    return this.held.record;
  }

  /** The slot at which this database has lost what it held; null: it has not. */
  get standsAt(): number | null {
    return this.held.standsAt;
  }

  /** Another replica has executed everything up to there; 0: none has told. */
  get heardTo(): number {
    return Math.max(0, ...this.heardBy.values());
  }

  /** With this replica, a majority has executed everything up to the slot. */
  isReached(slot: number): boolean {
    const { self } = this.options;
    const voters = this.options.voters();
    const others = voters.filter((voter) => voter !== self && (this.heardBy.get(voter) ?? 0) >= slot);
    return 2 * (others.length + 1) > voters.length;
  }

  get size(): number {
    return this.told.size;
  }

  /** What it means for this replica. */
  tell(replica: string, digests: readonly Digests[]): Verdict {
    let verdict = right;
    for (const { slot, digest } of digests) {
      if (!this.note(replica, slot, digest)) continue;
      const found = this.judge(slot);
      if (found.code === 'doubt') this.doubts.set(slot, found);
      else this.doubts.delete(slot);
      this.contradict(slot);
      if (found.code === 'wrong' && verdict.code === 'right') verdict = found;
    }
    // Where all differ, nothing beyond that slot tells who is wrong.
    if (verdict.code === 'wrong' && !this.hasFinalDoubtUpTo(verdict.slot)) return verdict;
    const [first] = this.doubts.values();
    return first ?? right;
  }

  /** This replica's database has answered to the slot. True: it has lost what it held there, and what it says now is not to be told. */
  loses(slot: number, digest: string): boolean {
    const held = this.held.at(slot);
    if (held === undefined || held === digest) return false;
    this.stand(slot);
    return true;
  }

  /** What another replica holds. Null: it says nothing of this one. */
  tellHeld(replica: string, { slot, digest }: Digests): Extract<Verdict, { code: 'lost' | 'wrong' }> | null {
    const { voters } = this.options;
    const own = this.ownAt(slot);
    if (own === undefined || own === digest || this.hasFinalDoubtUpTo(slot - 1)) return null;
    if (this.held.at(slot) !== own) {
      this.stand(slot);
      return { code: 'lost', slot, isHeldElsewhere: true };
    }
    const equal = this.held.heldOtherwise(replica, slot, digest);
    return 2 * equal.length > voters().length ? { code: 'wrong', slot, equal } : null;
  }

  private stand(slot: number): void {
    this.held.stand(slot);
    this.told.get(slot)?.delete(this.options.self);
    this.recorded();
  }

  /** Who has answered otherwise than this replica did, and holds, is to hear of it. Behind a slot at which all differ nobody holds anything. */
  private contradict(slot: number): void {
    const { self, voters, onOtherwise } = this.options;
    const digest = this.held.at(slot);
    // Without a word of its own, an earlier process has held it.
    if (digest === undefined || (this.ownAt(slot) ?? digest) !== digest || this.hasFinalDoubtUpTo(slot))
      return;
    const others = voters().filter((voter) => voter !== self);
    const otherwise = others.filter((voter) => (this.told.get(slot)?.get(voter) ?? digest) !== digest);
    if (otherwise.length === 0) return;
    if (this.held.hold(slot, digest, true)) this.recorded();
    for (const voter of otherwise) onOtherwise?.(voter, { slot, digest });
  }

  private recorded(): void {
    this.options.onRecord?.();
  }

  private hasFinalDoubtUpTo(slot: number): boolean {
    for (const doubt of this.doubts.values()) if (doubt.isFinal && doubt.slot <= slot) return true;
    return false;
  }

  ownAt(slot: number): string | undefined {
    return this.told.get(slot)?.get(this.options.self);
  }

  /** What the others have answered to the slot, beside one that answers `digest`: it would have a majority, another answer has one, or nobody can say. */
  othersOn(slot: number, digest: string): 'same' | 'otherwise' | null {
    const { self } = this.options;
    const voters = this.options.voters();
    const told = this.told.get(slot);
    const others = voters.filter((voter) => voter !== self).map((voter) => told?.get(voter));
    const same = others.filter((one) => one === digest).length;
    if (same > 0 && 2 * (same + 1) > voters.length) return 'same';
    return others.some((one) => one !== undefined && one !== digest) ? 'otherwise' : null;
  }

  /** Another database is here: what this replica has told is not its own any more. `isOfAnother`: it is a copy of another replica's, and what this one held says nothing of it. */
  forgetOwn(isOfAnother: boolean): void {
    const { self } = this.options;
    for (const digests of this.told.values()) digests.delete(self);
    this.doubts.clear();
    if (isOfAnother && this.held.settle(Number.POSITIVE_INFINITY)) this.recorded();
  }

  /** Up to the slot all go on from one database: what was told of it counts no more. */
  settle(slot: number): void {
    this.settledTo = Math.max(this.settledTo, slot);
    for (const told of this.told.keys()) if (told <= slot) this.told.delete(told);
    for (const doubted of this.doubts.keys()) if (doubted <= slot) this.doubts.delete(doubted);
    if (this.held.settle(slot)) this.recorded();
  }

  private note(replica: string, slot: number, digest: string): boolean {
    const { slotsMax, self } = this.options;
    if (replica !== self) this.heardBy.set(replica, Math.max(this.heardBy.get(replica) ?? 0, slot));
    if (slot <= Math.max(this.settledTo, this.newest - slotsMax)) return false;
    const digests = this.told.get(slot) ?? new Map<string, string>();
    digests.set(replica, digest);
    this.told.set(slot, digests);
    // Whoever tells of a far slot tells of one that is chosen: older ones are settled, or will not be.
    this.newest = Math.max(this.newest, slot);
    for (const oldest of this.told.keys()) {
      if (this.told.size <= slotsMax) break;
      this.told.delete(oldest);
    }
    return this.told.has(slot);
  }

  private judge(slot: number): Verdict {
    const { self } = this.options;
    const voters = this.options.voters();
    const digests = this.told.get(slot) ?? new Map<string, string>();
    const own = digests.get(self);
    const byDigest = new Map<string, string[]>();
    for (const voter of voters) {
      const digest = digests.get(voter);
      if (digest !== undefined) byDigest.set(digest, [...(byDigest.get(digest) ?? []), voter]);
    }
    const majority = [...byDigest].find(([, same]) => 2 * same.length > voters.length);
    // Words may be of databases that have lost theirs since.
    if (own === undefined || own === this.held.at(slot)) return right;
    if (majority !== undefined) {
      if (majority[0] !== own) return { code: 'wrong', slot, equal: majority[1] };
      if (voters.length > 1 && !this.hasFinalDoubtUpTo(slot - 1)) this.held.hold(slot, own, false);
      return right;
    }
    const groups = [...byDigest.values()];
    if (groups.length < 2) return right;
    const differing = groups.flat();
    const most = Math.max(...groups.map((same) => same.length));
    const claimant = groups
      .filter((same) => same.length === most)
      .flat()
      .toSorted()[0] as string;
    return { code: 'doubt', slot, differing, isFinal: differing.length === voters.length, claimant };
  }
}
