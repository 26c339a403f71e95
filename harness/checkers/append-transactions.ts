/**
 * Transactions over lists, as the checker of list-append sees them: what each read and appended, who appended what, in which order each list grew.
 *
 * The values that are appended to one list are all different, so a list tells who wrote it and in which order. Pure.
 */
import type { Anomaly } from './anomaly.ts';
import { describeCall } from './anomaly.ts';
import type { Call } from './history.ts';

/** `['r', key, list]`, null where nobody knows what was read; `['append', key, value]`. */
export type MicroOperation =
  | readonly ['r', string, readonly number[] | null]
  | readonly ['append', string, number];

export interface Transaction {
  readonly id: number;
  readonly call: Call;
  readonly micros: readonly MicroOperation[];
}

export interface Append {
  readonly transaction: Transaction;
  readonly value: number;
  /** Among the transaction's operations. */
  readonly position: number;
  /** The last one that its transaction made to this list. */
  readonly isLast: boolean;
}

export interface ListKey {
  readonly key: string;
  readonly appends: ReadonlyMap<number, Append>;
  /** The first value that each read of `ok` transactions saw from outside, with the list. */
  readonly reads: readonly ListRead[];
  /** The longest list that was read: the order of its versions. */
  readonly order: readonly number[];
}

export interface ListRead {
  readonly transaction: Transaction;
  /** What others had written: without the transaction's own appends. */
  readonly list: readonly number[];
}

export interface Lists {
  readonly transactions: readonly Transaction[];
  readonly keys: readonly ListKey[];
  /** Transactions whose reads contradict themselves, or lists that contain what nobody appended. */
  readonly anomalies: readonly Anomaly[];
}

export function collectLists(calls: readonly Call[]): Lists {
  const transactions = calls.map((call, id) => ({
    id,
    call,
    micros: call.answer as readonly MicroOperation[],
  }));
  const keys = new Map<string, { appends: Map<number, Append>; reads: ListRead[] }>();
  const anomalies: Anomaly[] = [];
  const of = (key: string): { appends: Map<number, Append>; reads: ListRead[] } => {
    const found = keys.get(key) ?? { appends: new Map<number, Append>(), reads: [] };
    keys.set(key, found);
    return found;
  };
  for (const transaction of transactions) {
    const last = new Map<string, number>();
    for (const micro of transaction.micros) if (micro[0] === 'append') last.set(micro[1], micro[2]);
    for (const [position, micro] of transaction.micros.entries()) {
      if (micro[0] !== 'append') continue;
      const [, key, value] = micro;
      of(key).appends.set(value, { transaction, value, position, isLast: last.get(key) === value });
    }
    if (transaction.call.outcome === 'ok')
      for (const [key, list] of outsideReads(transaction, anomalies))
        of(key).reads.push({ transaction, list });
  }
  return {
    transactions,
    anomalies,
    keys: [...keys].map(([key, { appends, reads }]) => ({
      key,
      appends,
      reads,
      order: reads.reduce<readonly number[]>(
        (best, { list }) => (list.length > best.length ? list : best),
        [],
      ),
    })),
  };
}

/** What the transaction saw of others, per list; tells where its own reads do not fit its own earlier reads and appends. */
function outsideReads(transaction: Transaction, anomalies: Anomaly[]): Map<string, readonly number[]> {
  const seen = new Map<string, readonly number[]>();
  const own = new Map<string, number[]>();
  const appends = new Set(
    transaction.micros.flatMap(([kind, key, value]) => (kind === 'append' ? [`${key}/${value}`] : [])),
  );
  for (const [kind, key, value] of transaction.micros) {
    const mine = own.get(key) ?? [];
    if (kind === 'append') {
      own.set(key, [...mine, value]);
      continue;
    }
    if (value === null) continue;
    const split = value.length - mine.length;
    const outside = value.slice(0, Math.max(split, 0));
    const before = seen.get(key);
    const fits =
      split >= 0 &&
      mine.every((each, index) => value[split + index] === each) &&
      (before === undefined || isSame(before, outside)) &&
      !outside.some((each) => appends.has(`${key}/${each}`));
    if (!fits) anomalies.push(internal(transaction, key, value, before, mine));
    else seen.set(key, outside);
  }
  return seen;
}

function internal(
  transaction: Transaction,
  key: string,
  list: readonly number[],
  before: readonly number[] | undefined,
  own: readonly number[],
): Anomaly {
  return {
    kind: 'internal',
    summary: `a transaction read list ${key} as it cannot be after its own operations`,
    detail: [
      describeCall(transaction.call),
      `It read ${showList(list)}, after it had read ${before === undefined ? 'nothing' : showList(before)} and appended ${showList(own)} itself by then.`,
    ],
  };
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && isPrefix(a, b);
}

export function isPrefix(short: readonly number[], long: readonly number[]): boolean {
  return short.length <= long.length && short.every((value, index) => long[index] === value);
}

export function showList(list: readonly number[]): string {
  return list.length <= 12 ? `[${list.join(' ')}]` : `[... ${list.slice(-12).join(' ')}]`;
}
