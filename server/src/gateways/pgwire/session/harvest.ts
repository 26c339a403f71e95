/**
 * Takes in the rows of a harvest as PostgreSQL sends them and turns them into parts for agreement.
 *
 * Invariant: at most `waitingPartsMax` full parts wait; beyond that PostgreSQL is stopped until agreement has taken one.
 */
import type { TransactionPayload } from '../../../apply/effects.ts';
import type { SessionSql } from '../../../ports/session-sql.ts';
import { firstColumn, type GatewayError } from '../codec/backend-messages.ts';
import { rowTooLarge } from '../errors.ts';
import type { BackendLink } from './backend-link.ts';
import type { CommittedBefore } from './request.ts';
import { createPartBuilder, RowTooLarge } from './part-builder.ts';

const waitingPartsMax = 2;

export interface Harvest {
  readonly onRow: (row: Buffer) => void;
  /** The rows are all in. */
  finish(): void;
  /** The transaction will not be committed: what is still coming is thrown away. */
  abandon(): void;
  /** Resolves as soon as one part is full: the transaction is a large one. */
  readonly large: Promise<'large'>;
  /** Full parts in order, without the last; ends after `finish`. */
  fullParts(): AsyncIterable<TransactionPayload>;
  /** `tag`: how the client will be told, kept with the name that it gave. */
  lastPart(tag: string): TransactionPayload;
  readonly isEmpty: boolean;
  readonly serializable: boolean;
  /** The client has named the transaction. */
  readonly named: boolean;
  readonly committedBefore: CommittedBefore | null;
  /** Why the transaction cannot be replicated. */
  readonly refused: GatewayError | null;
}

export const createHarvest = (options: {
  readonly sessionSql: SessionSql;
  readonly link: BackendLink;
  readonly transaction: string;
  readonly partBytesMax: number;
  /** What the client sent, used where the harvest does not say. */
  readonly sentSql: readonly string[];
}): Harvest => {
  const builder = createPartBuilder(options);
  const waiting: TransactionPayload[] = [];
  let finished = false;
  let abandoned = false;
  let serializable = false;
  let refused: GatewayError | null = null;
  let request: { readonly role: string; readonly id: string } | null = null;
  let before: CommittedBefore | null = null;
  let saidSql = false;
  let wake: (() => void) | null = null;
  let becameLarge = (): void => {};
  const large = new Promise<'large'>((resolve) => {
    becameLarge = () => resolve('large');
  });

  const wakeUp = (): void => {
    const sleeper = wake;
    wake = null;
    sleeper?.();
  };

  const take = (row: Buffer): void => {
    const decoded = options.sessionSql.decodeHarvestRow(row);
    switch (decoded.kind) {
      case 'serializable':
        serializable = true;
        return;
      case 'request':
        request = { role: decoded.role, id: decoded.id };
        return;
      case 'committedBefore':
        before = { slot: decoded.slot, tag: decoded.tag };
        return;
      case 'refused':
        refused ??= { sqlState: decoded.sqlState, message: decoded.message, hint: decoded.hint };
        return;
      case 'effect': {
        if (decoded.sql !== null) {
          saidSql = true;
          builder.addSql(decoded.sql);
        }
        const full = builder.add(decoded.effect);
        if (full.length === 0) return;
        waiting.push(...full);
        if (waiting.length > waitingPartsMax) options.link.pause('parts');
        becameLarge();
        wakeUp();
      }
    }
  };

  return {
    large,
    onRow(frame) {
      if (refused !== null || abandoned) return;
      const row = firstColumn(frame);
      if (row === null) return;
      try {
        take(row);
      } catch (error) {
        if (!(error instanceof RowTooLarge)) throw error;
        refused = rowTooLarge(error.bytes, error.limit);
      }
    },
    abandon() {
      abandoned = true;
      waiting.length = 0;
      options.link.resume('parts');
    },
    finish() {
      finished = true;
      if (!saidSql) for (const sql of options.sentSql) builder.addSql(sql);
      wakeUp();
    },
    async *fullParts() {
      for (;;) {
        const part = waiting.shift();
        if (part !== undefined) {
          if (waiting.length <= waitingPartsMax) options.link.resume('parts');
          yield part;
        } else if (finished) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    },
    lastPart: (tag) =>
      request === null ? builder.finish() : { ...builder.finish(), request: { ...request, tag } },
    get isEmpty() {
      return builder.isEmpty;
    },
    get serializable() {
      return serializable;
    },
    get named() {
      return request !== null;
    },
    get committedBefore() {
      return before;
    },
    get refused() {
      return refused;
    },
  };
};
