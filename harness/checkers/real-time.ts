/**
 * What real time says of the order of transactions, as edges between them: who had ended before another began comes before it.
 *
 * Without the edges that follow from others. Of reads in a mode: one that is bounded comes after what had ended so long before it began; one of a snapshot after nothing but what its session has been shown; and what they
 * have shown binds those that read-terms.ts says. Pure.
 */
import { seconds } from './anomaly.ts';
import type { Transaction } from './append-transactions.ts';
import type { Graph } from './cycles.ts';
import { bindsLeader, isAtFollower, type ReadRules } from './read-terms.ts';

export function addRealTime(graph: Graph, transactions: readonly Transaction[], rules: ReadRules): void {
  const committed = transactions.filter(({ call }) => call.outcome !== 'fail');
  const current = committed.filter(({ call }) => call.terms?.mode !== 'snapshot');
  addOrder(
    graph,
    committed.filter(({ call }) => bindsLeader(call, rules)),
    current,
  );
  addOrder(
    graph,
    committed.filter(({ call }) => !bindsLeader(call, rules)),
    current.filter(({ call }) => isAtFollower(call)),
  );
  addSessions(graph, committed);
}

/** Each of the second comes after those of the first that had ended, but for those that had ended before another of these had to be current. */
function addOrder(graph: Graph, before: readonly Transaction[], after: readonly Transaction[]): void {
  const events = [
    ...after.map((transaction) => ({ at: transaction.call.currentAt, transaction, isEnd: false })),
    ...before.map((transaction) => ({ at: transaction.call.end, transaction, isEnd: true })),
  ]
    .filter(({ at }) => Number.isFinite(at))
    .sort((a, b) => a.at - b.at || Number(a.isEnd) - Number(b.isEnd));
  const comesAfter = new Map<Transaction, readonly Transaction[]>();
  let ended = new Set<Transaction>();
  for (const { transaction, isEnd } of events) {
    if (!isEnd) {
      comesAfter.set(transaction, [...ended]);
      for (const each of ended) {
        const because = `began after that had ended at ${seconds(each.call.endUs)}`;
        graph.add({ from: each.id, to: transaction.id, kind: 'rt', because });
      }
      continue;
    }
    const implied = new Set(comesAfter.get(transaction));
    ended = new Set([...ended].filter((each) => !implied.has(each)));
    ended.add(transaction);
  }
}

function addSessions(graph: Graph, transactions: readonly Transaction[]): void {
  const last = new Map<number, Transaction>();
  for (const transaction of transactions) {
    const { terms, outcome } = transaction.call;
    if (terms === null || outcome !== 'ok') continue;
    const before = last.get(terms.session);
    last.set(terms.session, transaction);
    const because = `was read later in the same session, ${terms.session}`;
    if (before !== undefined) graph.add({ from: before.id, to: transaction.id, kind: 'rt', because });
  }
}
