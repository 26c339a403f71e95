/**
 * A terminal of TPC-C: which transactions it draws, as clause 5.2.4.2 has them mixed, and how one is performed, again where PostgreSQL asks for that. No think times.
 *
 * Who opens its connection, and what becomes of it, is its owner's business.
 */
import type { Client } from 'pg';
import { drawNewOrder, newOrder } from './new-order.ts';
import * as others from './other-transactions.ts';
import type { TpccRandom } from './tpcc-random.ts';
import type { TpccScale } from './tpcc-scale.ts';
import { transact, type Ask } from './tpcc-session.ts';

export const transactionNames = ['New-Order', 'Payment', 'Order-Status', 'Delivery', 'Stock-Level'] as const;
export type TransactionName = (typeof transactionNames)[number];

/** Of 23 cards, which are drawn until none is left: clause 5.2.4.2. */
const cards: Readonly<Record<TransactionName, number>> = {
  'New-Order': 10,
  Payment: 10,
  'Order-Status': 1,
  Delivery: 1,
  'Stock-Level': 1,
};
export const deck: readonly TransactionName[] = transactionNames.flatMap((name) =>
  Array.from({ length: cards[name] }, () => name),
);

/** A conflict with another transaction: nothing has happened, and it is worth another try. */
const conflicts = new Set(['40001', '40P01']);

export interface Done {
  readonly name: TransactionName;
  readonly end: 'committed' | 'rolledBack';
  /** From the first attempt on. */
  readonly ms: number;
  readonly attempts: number;
}

/** A transaction with its input, which is the same however often it is tried. */
export interface Task {
  readonly name: TransactionName;
  readonly work: (ask: Ask) => Promise<void>;
}

/** To its end. @throws what `transact` does, but conflicts */
export async function perform(client: Client, { name, work }: Task): Promise<Done> {
  const beganMs = performance.now();
  for (let attempts = 1; ; attempts += 1) {
    try {
      const end = await transact(client, work);
      return { name, end, attempts, ms: performance.now() - beganMs };
    } catch (error) {
      if (!conflicts.has((error as { readonly code?: string }).code ?? '')) throw error;
    }
  }
}

export interface TerminalOptions {
  readonly scale: TpccScale;
  readonly drawn: TpccRandom;
  /** All its orders are of one warehouse; what it asks of the stock of one of its districts. */
  readonly warehouse: number;
  readonly district: number;
}

export class Terminal {
  private readonly options: TerminalOptions;
  private left: TransactionName[] = [];

  constructor(options: TerminalOptions) {
    this.options = options;
  }

  next(): Task {
    if (this.left.length === 0) this.left = this.options.drawn.shuffled(deck);
    const name = this.left.pop()!;
    return { name, work: this.draw(name) };
  }

  private draw(name: TransactionName): (ask: Ask) => Promise<void> {
    const { drawn, scale, warehouse, district } = this.options;
    switch (name) {
      case 'New-Order': {
        const asked = drawNewOrder(drawn, scale, warehouse);
        return (ask) => newOrder(ask, asked);
      }
      case 'Payment': {
        const asked = others.drawPayment(drawn, scale, warehouse);
        return (ask) => others.payment(ask, asked);
      }
      case 'Order-Status': {
        const asked = others.drawOrderStatus(drawn, scale, warehouse);
        return (ask) => others.orderStatus(ask, asked);
      }
      case 'Delivery': {
        const asked = others.drawDelivery(drawn, warehouse);
        return (ask) => others.delivery(ask, asked);
      }
      case 'Stock-Level': {
        const asked = others.drawStockLevel(drawn, warehouse, district);
        return (ask) => others.stockLevel(ask, asked);
      }
      default:
        return name satisfies never;
    }
  }
}
