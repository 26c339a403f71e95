/**
 * Strict serializability of transactions that read lists and append to them, by cycles of dependencies, as in "Elle: Inferring Isolation Anomalies from
 * Experimental Observations".
 *
 * A list shows its own history, so the dependencies need no guess: a cycle among them, or against real time, is a proof. Sound, and complete as far as
 * dependencies were observed (an append that nobody ever read shows only as lost, if a later read should have seen it). Linear in the history but for what is inside a cycle.
 */
import { describeCall, type Anomaly, type Verdict } from './anomaly.ts';
import {
  collectLists,
  isPrefix,
  showList,
  type ListKey,
  type Lists,
  type Transaction,
} from './append-transactions.ts';
import { findCycles, Graph, type Cycle, type CycleKind, type Edge } from './cycles.ts';
import type { Call } from './history.ts';
import { type ReadRules, statedReadRules } from './read-terms.ts';
import { addRealTime } from './real-time.ts';

export function checkListAppend(calls: readonly Call[], rules: ReadRules = statedReadRules): Verdict {
  const lists = collectLists(calls);
  const direct = [...lists.anomalies, ...lists.keys.flatMap(checkKey)];
  const serializable = calls.filter(({ terms }) => terms === null);
  const among = serializable.length === calls.length ? lists : collectLists(serializable);
  const cycles = findCycles(dependencies(among, rules)).map((cycle) =>
    describeCycle(among.transactions, cycle),
  );
  return {
    anomalies: [...direct, ...cycles, ...(among === lists ? [] : badSnapshots(lists, rules))],
    gaveUp: null,
  };
}

/**
 * Reads in a mode are of one snapshot each, at REPEATABLE READ. PostgreSQL does not keep such a read from seeing what two transactions that passed each other leave in between (two
 * `rw` in a row: the read-only anomaly), but its snapshot must be one of those that there were, and as new as it asked for.
 */
const notOfSnapshots: readonly CycleKind[] = [
  'G0',
  'G1c',
  'G-single',
  'G0-realtime',
  'G1c-realtime',
  'G-single-realtime',
];

function badSnapshots(lists: Lists, rules: ReadRules): readonly Anomaly[] {
  return findCycles(dependencies(lists, rules), notOfSnapshots)
    .filter(({ edges }) => edges.some(({ from }) => lists.transactions[from]!.call.terms !== null))
    .map((cycle) => describeCycle(lists.transactions, cycle));
}

/** Transactions that took effect: acknowledged, or of unknown outcome but seen by others. */
function effective(keys: readonly ListKey[], transactions: readonly Transaction[]): ReadonlySet<Transaction> {
  const found = new Set(transactions.filter(({ call }) => call.outcome === 'ok'));
  for (const { appends, reads } of keys) {
    for (const { transaction, list } of reads) {
      for (const value of list) {
        const writer = appends.get(value)?.transaction;
        if (writer !== undefined && writer !== transaction && writer.call.outcome === 'info')
          found.add(writer);
      }
    }
  }
  return found;
}

/** What a single list shows by itself. */
function checkKey(list: ListKey): Anomaly[] {
  return [...badReads(list), ...incompatibleOrders(list), ...lostAppends(list)];
}

function badReads({ key, appends, reads }: ListKey): Anomaly[] {
  const found: Anomaly[] = [];
  for (const { transaction, list } of reads) {
    const doubled = list.find((value, index) => list.indexOf(value) !== index);
    if (doubled !== undefined)
      found.push(anomaly('doubled-append', `list ${key} has ${doubled} twice`, [transaction], list));
    const unwritten = list.find((value) => !appends.has(value));
    if (unwritten !== undefined)
      found.push(
        anomaly('unwritten', `list ${key} has ${unwritten}, which nobody appended`, [transaction], list),
      );
    const aborted = list.find((value) => appends.get(value)?.transaction.call.outcome === 'fail');
    if (aborted !== undefined) {
      const writer = appends.get(aborted)!.transaction;
      const summary = `list ${key} has ${aborted}, whose transaction was told that it failed`;
      found.push(anomaly('G1a', summary, [writer, transaction], list));
    }
    const turned = misordered(list, appends);
    if (turned !== null) {
      const summary = `list ${key} has a transaction's appends in another order than it made them`;
      found.push(anomaly('misordered-append', summary, [turned, transaction], list));
    }
    const last = list.length === 0 ? undefined : appends.get(list.at(-1)!);
    if (last !== undefined && !last.isLast && last.transaction !== transaction) {
      const summary = `list ${key} was read with ${last.value} at its end, in the middle of the transaction that went on appending`;
      found.push(anomaly('G1b', summary, [last.transaction, transaction], list));
    }
  }
  return firstOfEachKind(found);
}

/** A transaction whose appends stand in the list in another order than it made them. */
function misordered(list: readonly number[], appends: ListKey['appends']): Transaction | null {
  for (const [index, value] of list.entries()) {
    const [append, next] = [appends.get(value), appends.get(list[index + 1] ?? Number.NaN)];
    if (append === undefined || append.transaction !== next?.transaction) continue;
    if (next.position < append.position) return append.transaction;
  }
  return null;
}

function incompatibleOrders({ key, reads, order }: ListKey): Anomaly[] {
  const other = reads.find(({ list }) => !isPrefix(list, order));
  if (other === undefined) return [];
  const longest = reads.find(({ list }) => list === order)!;
  return [
    {
      kind: 'incompatible-order',
      summary: `list ${key} was read in two ways of which neither is the beginning of the other`,
      detail: [
        `${showList(order)} by ${describeCall(longest.transaction.call)}`,
        `${showList(other.list)} by ${describeCall(other.transaction.call)}`,
      ],
    },
  ];
}

/** Appends that were acknowledged before a read began that does not have them. */
function lostAppends({ key, appends, reads }: ListKey): Anomaly[] {
  const inOrder = [...reads].sort((a, b) => b.transaction.call.currentAt - a.transaction.call.currentAt);
  const latest = inOrder[0];
  if (latest === undefined) return [];
  const present = new Set(latest.list);
  const found: Anomaly[] = [];
  for (const { transaction, value } of appends.values()) {
    const { outcome, end } = transaction.call;
    if (outcome !== 'ok' || end >= latest.transaction.call.currentAt || present.has(value)) continue;
    const summary = `list ${key} has lost ${value}, whose append was acknowledged`;
    found.push(anomaly('lost-append', summary, [transaction, latest.transaction], latest.list));
  }
  return firstOfEachKind(found);
}

function firstOfEachKind(found: readonly Anomaly[]): Anomaly[] {
  const kinds = new Map<string, Anomaly>();
  for (const each of found) if (!kinds.has(each.kind)) kinds.set(each.kind, each);
  return [...kinds.values()];
}

function anomaly(
  kind: string,
  summary: string,
  transactions: readonly Transaction[],
  list: readonly number[],
): Anomaly {
  return {
    kind,
    summary,
    detail: [`It was read as ${showList(list)}.`, ...transactions.map(({ call }) => describeCall(call))],
  };
}

function dependencies({ transactions, keys }: Lists, rules: ReadRules): Graph {
  const graph = new Graph();
  const didHappen = effective(keys, transactions);
  for (const list of keys) {
    addListEdges(graph, list);
    addUnseen(graph, list, didHappen);
  }
  addRealTime(graph, transactions, rules);
  return graph;
}

function addListEdges(graph: Graph, { key, appends, reads, order }: ListKey): void {
  const writer = (value: number | undefined): Transaction | null => {
    const found = value === undefined ? undefined : appends.get(value)?.transaction;
    // What failed and was read all the same is told as G1a; it has no place in an order.
    return found === undefined || found.call.outcome === 'fail' ? null : found;
  };
  for (const [index, value] of order.entries()) {
    const [first, second] = [writer(value), writer(order[index + 1])];
    if (first !== null && second !== null)
      graph.add(edge('ww', first, second, `appended ${order[index + 1]} to list ${key} after ${value}`));
  }
  for (const { transaction, list } of reads) {
    if (!isPrefix(list, order)) continue;
    const before = writer(list.at(-1));
    if (before !== null) graph.add(edge('wr', before, transaction, `read ${list.at(-1)} in list ${key}`));
    const after = writer(order[list.length]);
    if (after === null) continue;
    const because = `appended ${order[list.length]} to list ${key}, which the one before did not see`;
    graph.add(edge('rw', transaction, after, because));
  }
}

/** An append that took effect and is not in the longest list comes after it, and after whoever read that. */
function addUnseen(
  graph: Graph,
  { key, appends, reads, order }: ListKey,
  didHappen: ReadonlySet<Transaction>,
): void {
  const seen = new Set(order);
  const last = order.length === 0 ? undefined : appends.get(order.at(-1)!)?.transaction;
  const readers = reads.filter(({ list }) => list.length === order.length && isPrefix(list, order));
  for (const { transaction, value } of appends.values()) {
    if (seen.has(value) || !didHappen.has(transaction)) continue;
    const because = `appended ${value} to list ${key}, which the one before did not see`;
    if (last !== undefined && didHappen.has(last)) graph.add(edge('ww', last, transaction, because));
    for (const reader of readers) graph.add(edge('rw', reader.transaction, transaction, because));
  }
}

function edge(kind: Edge['kind'], from: Transaction, to: Transaction, because: string): Edge {
  return { from: from.id, to: to.id, kind, because };
}

const explanations: Readonly<Record<Cycle['kind'], string>> = {
  G0: 'writes that are interleaved in opposite orders',
  G1c: 'transactions that saw each other, or each other’s predecessors, in a circle',
  'G-single': 'a transaction that saw part of another one and missed part (read skew)',
  G2: 'transactions that each missed what another one wrote (write skew)',
  'G0-realtime': 'writes in an order that contradicts real time',
  'G1c-realtime': 'something was seen before it was begun',
  'G-single-realtime': 'a stale read: something that had ended before was missed',
  'G2-realtime': 'transactions that missed each other’s writes, in an order that contradicts real time',
};

function describeCycle(transactions: readonly Transaction[], { kind, edges }: Cycle): Anomaly {
  const name = new Map(edges.map((each, index) => [each.from, `T${index + 1}`]));
  return {
    kind,
    summary: `${explanations[kind]}: ${edges.length} transactions depend on each other in a circle`,
    detail: [
      ...edges.map(({ from }) => `${name.get(from)}: ${describeCall(transactions[from]!.call)}`),
      ...edges.map(
        (each) =>
          `${name.get(each.from)} < ${name.get(each.to)} (${each.kind}): ${name.get(each.to)} ${each.because}`,
      ),
      'So each of them would have to come before itself.',
    ],
  };
}
