/** What travels through the log of a run's cluster, and what orders it. Pure. */
import { readModes, type ReadMode } from '../checkers/read-terms.ts';
import { faultKinds, statementFaultKinds, type FaultKind } from './schedule.ts';

const names = ['wal', 'statements', 'paxos'] as const;

/** `wal` and `statements` by Multi-Paxos; `paxos`: statements by single-decree Paxos, where every replica proposes. */
export type Order = (typeof names)[number];

/** @throws RangeError */
export function parseOrder(text: string): Order {
  const found = names.find((name) => name === text);
  if (found === undefined) throw new RangeError(`no order ${text}; there are ${names.join(', ')}`);
  return found;
}

/** What `barista demo` is started with. */
export function orderArgs(order: Order): readonly string[] {
  if (order === 'wal') return [];
  return ['--payload=statements', ...(order === 'paxos' ? ['--protocol=paxos'] : [])];
}

export function faultKindsOf(order: Order): readonly FaultKind[] {
  return order === 'wal' ? faultKinds : statementFaultKinds;
}

/** Where statements travel nobody reads in a mode, and no request has an id that clients give. */
export function readModesOf(order: Order): readonly ReadMode[] {
  return order === 'wal' ? readModes : [];
}
