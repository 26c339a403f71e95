/** What the papers have measured, as they print it. Seconds became milliseconds. */
import type { TransactionTimes } from './tpcc-times.ts';

const row = (
  name: TransactionTimes['name'],
  averageMs: number,
  p90Ms: number,
  count: number,
  rolledBack: number,
): TransactionTimes => ({ name, averageMs, p90Ms, count, rolledBack });

/** barista.txt, tables 1 to 3: five minutes each, five replicas. */
export const baristaTables = {
  plain: [
    row('New-Order', 160, 508, 670, 6),
    row('Payment', 172, 606, 617, 0),
    row('Order-Status', 218, 903, 44, 0),
    row('Delivery', 137, 218, 61, 0),
    row('Stock-Level', 220, 901, 43, 0),
  ],
  paxos: [
    row('New-Order', 733, 2325, 648, 5),
    row('Payment', 698, 2332, 545, 0),
    row('Order-Status', 568, 2191, 48, 0),
    row('Delivery', 766, 2407, 50, 0),
    row('Stock-Level', 851, 2528, 59, 0),
  ],
  multiPaxos: [
    row('New-Order', 948, 2508, 644, 4),
    row('Payment', 719, 1997, 572, 0),
    row('Order-Status', 756, 2069, 40, 0),
    row('Delivery', 806, 2482, 57, 0),
    row('Stock-Level', 762, 2240, 42, 0),
  ],
} as const;

/** low-overhead-paxos-replication.txt, section 6.2: transactions per second with updates, piggybacked against either other way, at 1,400 clients. */
export const piggybackGain = 1.3;

/** clouddbappliance.txt, section 4.2: operations per second, about, of one and of two instances behind the middleware. One instance without it is shown in a figure only. */
export const appliance = { one: 250, two: 100 } as const;
