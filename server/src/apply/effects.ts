/**
 * What a transaction did, as values: the payload of a log entry. Every replica applies exactly these.
 *
 * Responsible for: the shapes. The binary form is in payload.ts; how PostgreSQL yields and takes them in adapters/postgres.
 * Row values are PostgreSQL's text of the whole row (`row::text`), made under pinned settings, so that no client's
 * DateStyle, search_path or the like can change what they mean.
 */

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
 * A transaction, or a part of a large one. Parts share the proposal's client; the last carries `parts`, the slots of the
 * earlier ones being found by `transaction`. Nothing of a transaction is applied before its last part is chosen.
 */
export interface TransactionPayload {
  /** Names the transaction; the same in all its parts. */
  readonly transaction: string;
  /** Counts from 0. */
  readonly part: number;
  /** Number of parts, in the last one; null in the others. */
  readonly parts: number | null;
  readonly effects: readonly Effect[];
  /** What the client sent, for people to read: shortened, never executed. */
  readonly sql: readonly string[];
}
