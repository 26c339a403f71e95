/**
 * What a transaction did, as values: the payload of a log entry. Every replica applies exactly these.
 *
 * Responsible for: the shapes. The binary form is in payload.ts; how PostgreSQL yields and takes them in adapters/postgres.
 * Row values are PostgreSQL's text of the whole row (`row::text`), made under pinned settings, so that no client's
 * DateStyle, search_path or the like can change what they mean.
 */

import type { Ballot, Slot } from '../multipaxos/types.ts';

export type RowText = string;

/** `relation` is a schema-qualified, quoted name, such as `"public"."accounts"`. */
export type Effect =
  | { readonly kind: 'insert'; readonly relation: string; readonly rows: readonly RowText[] }
  /** `before[i]` became `after[i]`. */
  | {
      readonly kind: 'update';
      readonly relation: string;
      readonly before: readonly RowText[];
      readonly after: readonly RowText[];
    }
  | { readonly kind: 'delete'; readonly relation: string; readonly rows: readonly RowText[] }
  | { readonly kind: 'truncate'; readonly relation: string }
  /** One statement, run again as `role` under `settings` (search_path and what else changes its meaning). */
  | {
      readonly kind: 'ddl';
      readonly sql: string;
      readonly role: string;
      readonly settings: Readonly<Record<string, string>>;
    }
  /** The sequence stands here or beyond; `exact` where it was set back on purpose. */
  | {
      readonly kind: 'sequence';
      readonly relation: string;
      readonly lastValue: string;
      readonly isCalled: boolean;
      readonly exact: boolean;
    };

/**
 * A transaction, or a part of a large one. A part is an entry that changes nothing by itself; the last part names the slots
 * of the earlier ones (`partSlots`, filled in by the agreement, which proposes it only when all of those are chosen). So an entry
 * with `last` can always be applied, and parts without a last one are dead weight.
 */
export interface TransactionPayload {
  /** Names the transaction; the same in all its parts. */
  readonly transaction: string;
  /** Counts from 0. */
  readonly part: number;
  /** True for the only or last part. */
  readonly last: boolean;
  /** Slots of parts 0 .. part-1; empty unless `last`. */
  readonly partSlots: readonly Slot[];
  readonly effects: readonly Effect[];
  /** What the client sent, for people to read: shortened, never executed. */
  readonly sql: readonly string[];
  /** In the last part, if the client named the transaction so that it can repeat it safely. */
  readonly request?: CommittedRequest;
}

/** A client's own name for a transaction, recorded by every replica in the transaction itself. `tag`: how its success was told. */
export interface CommittedRequest {
  readonly role: string;
  readonly id: string;
  readonly tag: string;
}

/**
 * A transaction on its way to a slot. `leadership` is the ballot of the leader whose session executed it: a later leader may
 * find it in the log and propose it again, but once that leader, or any after `leadership`, has begun (its `leaderStart` is in a
 * lower slot), the transaction takes no effect, for it was executed without knowing what came in between.
 */
export interface ProposedTransaction extends TransactionPayload {
  readonly leadership: Ballot;
}

/** What can be told of a proposed transaction without reading its effects. */
export type TransactionHead = Pick<
  ProposedTransaction,
  'transaction' | 'part' | 'last' | 'partSlots' | 'leadership'
>;
