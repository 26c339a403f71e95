/**
 * Whose database the group goes on from when the answers of all replicas differ (specs/StatementAdoption.tla).
 *
 * Any of them is right, as long as all have the same from there on. One replica claims its database: it writes a name into that database's own directory, and puts the name into the log ("adopt"). A replica that comes to this entry without
 * the name stands still ahead of it, asks who is beyond it, and takes a copy from there. So does a replica that comes to a request of a session that it could not open again. If nobody is beyond, the claimed database was lost: another one is claimed.
 * The last adoption in the log counts.
 *
 * Responsible for: who claims, and when; who is known to be beyond an adoption. Invariants: a claim is durable before it is told; memory is one claim and one slot. That it is safe whoever claims, and however often, is the specification's business.
 * Bytes: u8 what (1: who is beyond the slot? 2: I am. 3: claim your database, which has executed the slot), u48 slot.
 */
import type { Logger } from 'pino';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { AdoptOperation } from '../../payload/statements/operation.ts';
import type { ClaimedDatabase } from '../../payload/statements/statements-payload.ts';
import type { Timers } from '../../ports/clock.ts';

export interface AdoptionsOptions {
  readonly self: ReplicaId;
  readonly voters: () => readonly ReplicaId[];
  readonly send: (to: ReplicaId, bytes: Uint8Array) => void;
  readonly timers: Pick<Timers, 'nowMs' | 'every'>;
  readonly randomName: () => string;
  readonly database: {
    /** What it has executed; null: it is not up. */
    pointer(): Slot | null;
    /** Of the copy that is kept, whether or not the database is up; 0: there is none. */
    keptSlot(): Slot;
    /** `adoptedAt`: the slot of its adoption; null: it is not known to be adopted. */
    claim(claim: { readonly name: string; readonly adoptedAt: Slot | null }): Promise<void>;
    claimed(): Promise<{ readonly name: string } | null>;
  };
  /** The same one again and again, until it is executed. */
  readonly submit: (operation: AdoptOperation) => void;
  /** It is not to be given any more. */
  readonly withdraw: (operation: AdoptOperation) => void;
  /** Whoever holds another answer to the slot than this database gave is asked to say so. */
  readonly tellAgain: (slot: Slot) => void;
  readonly onStanding: (slot: Slot) => void;
  /** A replica is beyond the slot that this one stands ahead of. */
  readonly onCopyThere: (slot: Slot, reason: StandingReason) => void;
  readonly onAdopted: (slot: Slot) => void;
  /** It stands still no more. */
  readonly onGoesOn: () => void;
  readonly logger: Logger;
}

const lookMs = 1_000;
/** So long somebody else is waited for, and so much longer by each voter that comes first. */
const patienceMs = 10_000;
/** Who is beyond the slot may have acknowledged what depends on it: one that was heard of is waited for so long. */
const patienceWithBeyondMs = 300_000;
const rankMs = 5_000;
/** So long a database is not claimed in which a majority's answer may have been lost: whoever holds that says so (AnswerAgreement, IsUnopposed). */
const heldMs = 1_000;
const words = { whoIsBeyond: 1, beyond: 2, claim: 3 } as const;
const messageBytes = 7;

type StandingReason = Parameters<ClaimedDatabase['standing']>[1] | 'lost';

/** What somebody is to do about it, since when. */
interface Waiting {
  readonly slot: Slot;
  readonly sinceMs: number;
}

export class Adoptions implements ClaimedDatabase {
  private readonly options: AdoptionsOptions;
  private readonly stopLooking: () => void;
  /** This replica's database is to be claimed once it holds the slot; `name`: it is. */
  private own: { readonly slot: Slot; readonly sinceMs: number; name: string | null } | null = null;
  /** All differ, and `claimant` is who is to claim its database. */
  private asked: (Waiting & { readonly claimant: ReplicaId }) | null = null;
  private ahead: (Waiting & { readonly reason: StandingReason }) | null = null;
  /** The first adoption that this database has passed over: who went on from the one that was adopted there may have acknowledged something, and counts before any claim of this one. */
  private passed: Slot | null = null;
  /** What was answered up to here counts no more. */
  private settledTo = 0 as Slot;
  private heardAtMs = Number.NEGATIVE_INFINITY;
  private isClaiming = false;

  constructor(options: AdoptionsOptions) {
    this.options = options;
    this.stopLooking = options.timers.every(lookMs, () => this.look());
  }

  /** All differ in what they have answered to the slot, and nobody's word is missing that may help. */
  differ(slot: Slot, claimant: ReplicaId): void {
    const { self, timers } = this.options;
    if (slot <= this.settledTo) return;
    if (claimant === self) {
      if (this.own !== null) return;
      this.claim(slot);
    } else if (this.asked === null) this.asked = { slot, claimant, sinceMs: timers.nowMs() };
    else return;
    this.look();
  }

  /** They do not, as it turned out. */
  agree(): void {
    this.asked = null;
    if (this.own?.name === null) this.own = null;
  }

  /** An adoption is chosen: what was answered ahead of it is settled, or will be by those that stand ahead of it. */
  chosen(slot: Slot): void {
    this.settledTo = slot;
    this.asked = null;
    this.drop();
  }

  /** Another database is here. */
  replaced(): void {
    this.asked = null;
    this.passed = null;
    this.drop();
    this.goesOn();
  }

  private goesOn(): void {
    if (this.ahead === null) return;
    this.ahead = null;
    this.options.onGoesOn();
  }

  /** What was claimed is not to be adopted any more, if it is not in the log yet. */
  private drop(): void {
    const { own } = this;
    this.own = null;
    if (own !== null && own.name !== null)
      this.options.withdraw({ kind: 'adopt', name: own.name, replica: this.options.self });
  }

  /** Somebody was beyond, and may come back. */
  private get isAwaitedBeyond(): boolean {
    return this.options.timers.nowMs() - this.heardAtMs < patienceWithBeyondMs;
  }

  /** Whether it is worth while to go on asking for a copy. */
  get isSomebodyBeyond(): boolean {
    return this.options.timers.nowMs() - this.heardAtMs < patienceMs;
  }

  // ------------------------------------------------------------------------------------ what executes the log says

  async holds(name: string): Promise<boolean> {
    return (await this.options.database.claimed())?.name === name;
  }

  async adopted(slot: Slot, name: string): Promise<void> {
    // A restart is to know whether the copy that is kept is of behind it.
    await this.options.database.claim({ name, adoptedAt: slot });
    this.replaced();
    this.settledTo = slot;
    this.options.logger.warn({ slot }, 'the group goes on from the database of this replica');
    this.options.onAdopted(slot);
  }

  standing(slot: Slot, reason: StandingReason): void {
    this.options.onStanding(slot);
    this.stand(slot, reason);
  }

  /** This database has lost what it held at the slot: as one that stands ahead of it, but that it has executed more. `isHeldElsewhere`: somebody has it, and is waited for as one that is beyond. */
  lost(slot: Slot, isHeldElsewhere: boolean): void {
    this.stand(slot, 'lost');
    if (isHeldElsewhere) this.heardAtMs = this.options.timers.nowMs();
  }

  private stand(slot: Slot, reason: StandingReason): void {
    if (this.ahead?.slot === slot) return;
    this.asked = null;
    this.drop();
    if (this.passed === null) this.heardAtMs = Number.NEGATIVE_INFINITY;
    this.ahead = { slot, reason, sinceMs: this.options.timers.nowMs() };
    this.look();
  }

  passedOver(slot: Slot): void {
    this.passed ??= slot;
    this.goesOn();
  }

  // ----------------------------------------------------------------------------------------------- what others say

  take(from: ReplicaId, bytes: Uint8Array): void {
    if (bytes.length !== messageBytes) return;
    const { database, timers, onCopyThere } = this.options;
    const slot = Buffer.from(bytes.buffer, bytes.byteOffset, messageBytes).readUIntBE(1, 6) as Slot;
    const word = bytes[0];
    if (word === words.whoIsBeyond) {
      // One that has passed over the adoption there did not go on from it: two of these would wait for each other.
      const wentOn =
        (this.passed === null || slot < this.passed) && (this.ahead === null || slot < this.ahead.slot);
      const has = Math.max(database.pointer() ?? 0, database.keptSlot());
      if (wentOn && has >= slot) this.say(from, words.beyond, slot);
    } else if (
      word === words.beyond &&
      this.ahead !== null &&
      (this.ahead.slot === slot || this.passed === slot)
    ) {
      this.heardAtMs = timers.nowMs();
      this.drop();
      if (this.ahead.slot === slot) onCopyThere(slot, this.ahead.reason);
    } else if (word === words.claim && this.ahead === null) {
      if (this.own !== null) return;
      this.claim(slot);
      this.look();
    }
  }

  // --------------------------------------------------------------------------------------------------------- itself

  private look(): void {
    const { ahead, asked } = this;
    if (ahead !== null) {
      for (const peer of this.others())
        for (const slot of new Set([ahead.slot, this.passed ?? ahead.slot]))
          this.say(peer, words.whoIsBeyond, slot);
      if (this.isTired(ahead) && !this.isAwaitedBeyond) {
        this.ahead = { ...ahead, sinceMs: this.options.timers.nowMs() };
        this.own ??= { slot: (ahead.slot - 1) as Slot, sinceMs: Number.NEGATIVE_INFINITY, name: null };
      }
    }
    if (asked !== null) {
      this.say(asked.claimant, words.claim, asked.slot);
      if (this.isTired(asked)) this.claim(asked.slot);
    }
    if (this.own !== null && !this.isClaiming) void this.claimOwn();
  }

  private isTired({ sinceMs }: Waiting): boolean {
    const { self, timers, voters } = this.options;
    const rank = Math.max(0, voters().toSorted().indexOf(self));
    return timers.nowMs() - sinceMs > patienceMs + rank * rankMs;
  }

  private claim(slot: Slot): void {
    if (slot <= this.settledTo) return;
    if (this.own !== null && this.own.slot >= slot) return;
    this.own = {
      slot,
      sinceMs: this.own?.sinceMs ?? this.options.timers.nowMs(),
      name: this.own?.name ?? null,
    };
    this.options.tellAgain(slot);
  }

  /** Never rejects. */
  private async claimOwn(): Promise<void> {
    const { database, randomName, self, submit, logger } = this.options;
    const { own } = this;
    if (own === null || (database.pointer() ?? -1) < own.slot) return;
    if (this.options.timers.nowMs() - own.sinceMs < heldMs) return;
    this.isClaiming = true;
    try {
      if (own.name === null) {
        const name = randomName();
        await database.claim({ name, adoptedAt: null });
        own.name = name;
      }
    } catch (error) {
      logger.warn({ err: error }, 'this replica could not claim its database');
      return;
    } finally {
      this.isClaiming = false;
    }
    if (this.own === own) submit({ kind: 'adopt', name: own.name, replica: self });
  }

  private others(): readonly ReplicaId[] {
    const { self, voters } = this.options;
    return voters().filter((voter) => voter !== self);
  }

  private say(to: ReplicaId, word: number, slot: Slot): void {
    const bytes = Buffer.alloc(messageBytes);
    bytes[0] = word;
    bytes.writeUIntBE(slot, 1, 6);
    this.options.send(to, bytes);
  }

  stop(): void {
    this.stopLooking();
  }
}
