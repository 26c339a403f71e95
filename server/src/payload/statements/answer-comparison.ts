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
 * `lost`: it held another answer, or another replica does.
 * `wrong`: who has what the majority has is in `equal`. `doubt`: `isFinal`: all voters have told, and no further word will help; `claimant`: whose database is to go on, if any must: the first of those that are equal to most others.
 */
export type Verdict =
  | { readonly code: 'right' }
  | { readonly code: 'lost'; readonly slot: number }
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
  /** The record is another one. */
  readonly onRecord?: (record: AnswerRecord) => void;
  /** The replica that is told of has answered otherwise than this one holds. */
  readonly onOtherwise?: (held: Digests) => void;
}

const right: Verdict = { code: 'right' };

export class AnswerComparison {
  private readonly options: ComparisonOptions;
  /** In the order of slots as they were first told, by whomever. */
  private readonly told = new Map<number, Map<string, string>>();
  private readonly held: HeldAnswers;
  private readonly doubts = new Map<number, Extract<Verdict, { code: 'doubt' }>>();
  /** The newest slot that another replica has told of: up to there it has executed everything. */
  heardTo = 0;
  private newest = 0;
  private settledTo = 0;

  constructor(options: ComparisonOptions) {
    this.options = options;
    this.held = new HeldAnswers(options.slotsMax, options.record);
  }

  /** The slot at which this database has lost what it held; null: it has not. */
  get standsAt(): number | null {
    return this.held.standsAt;
  }

  get size(): number {
    return this.told.size;
  }

  /** What it means for this replica. */
  tell(replica: string, digests: readonly Digests[]): Verdict {
    let verdict = right;
    for (const { slot, digest } of digests) {
      if (!this.note(replica, slot, digest)) continue;
      this.contradict(replica, slot, digest);
      const found = this.judge(slot);
      if (found.code === 'doubt') this.doubts.set(slot, found);
      else this.doubts.delete(slot);
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

  /** What another replica holds. */
  tellHeld(replica: string, { slot, digest }: Digests): Verdict {
    const { self, voters } = this.options;
    const own = this.told.get(slot)?.get(self);
    if (own === undefined || own === digest) return right;
    if (this.held.at(slot) !== own) {
      this.stand(slot);
      return { code: 'lost', slot };
    }
    const equal = this.held.heldOtherwise(replica, slot, digest);
    return 2 * equal.length > voters().length ? { code: 'wrong', slot, equal } : right;
  }

  private stand(slot: number): void {
    this.held.stand(slot);
    this.told.get(slot)?.delete(this.options.self);
    this.recorded();
  }

  private contradict(replica: string, slot: number, digest: string): void {
    const held = this.held.at(slot);
    if (replica === this.options.self || held === undefined || held === digest) return;
    if (this.held.hold(slot, held, true)) this.recorded();
    this.options.onOtherwise?.({ slot, digest: held });
  }

  private recorded(): void {
    this.options.onRecord?.(this.held.record);
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

  /** Another database is here: what this replica has told is not its own any more. */
  forgetOwn(): void {
    const { self } = this.options;
    for (const digests of this.told.values()) digests.delete(self);
    this.doubts.clear();
    if (this.held.settle(Number.POSITIVE_INFINITY)) this.recorded();
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
    if (replica !== self) this.heardTo = Math.max(this.heardTo, slot);
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
      if (this.held.hold(slot, own, byDigest.size > 1)) this.recorded();
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
