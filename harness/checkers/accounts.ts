/**
 * Money that is only moved: every read sees all accounts with the same total and none below zero, and in the end each acknowledged transfer is there once, each failed one
 * not at all, and the balances are what the transfers make of the first ones. Pure.
 */
import { describeCall, type Anomaly, type Verdict } from './anomaly.ts';
import type { Call } from './history.ts';

export interface AccountsOptions {
  readonly accounts: number;
  readonly balance: number;
}

interface Transfer {
  readonly id: string;
  readonly from: number;
  readonly to: number;
  readonly amount: number;
}

type Balances = readonly (readonly [number, number])[];
interface FinalRead {
  readonly balances: Balances;
  readonly transfers: readonly Transfer[];
}

/** Operations: `transfer`, `read` (answer: balances) and, last of all, `final` (answer: balances and transfers as of one snapshot). */
export function checkAccounts(calls: readonly Call[], options: AccountsOptions): Verdict {
  const anomalies: Anomaly[] = [];
  for (const call of calls) {
    if (call.outcome !== 'ok') continue;
    if (call.f === 'read') anomalies.push(...badBalances(call, call.answer as Balances, options));
    if (call.f !== 'final') continue;
    const { balances, transfers } = call.answer as FinalRead;
    anomalies.push(...badBalances(call, balances, options), ...badTransfers(calls, transfers));
    anomalies.push(...badSums(balances, transfers, options));
  }
  const hasEnd = calls.some(({ f, outcome }) => f === 'final' && outcome === 'ok');
  return { anomalies, gaveUp: hasEnd ? null : 'the final read of the accounts is missing' };
}

function badBalances(call: Call, balances: Balances, { accounts, balance }: AccountsOptions): Anomaly[] {
  const found: Anomaly[] = [];
  const total = balances.reduce((sum, [, each]) => sum + each, 0);
  const add = (kind: string, summary: string): void =>
    void found.push({ kind, summary, detail: [describeCall(call)] });
  if (balances.length !== accounts)
    add('wrong-accounts', `a read saw ${balances.length} accounts of ${accounts}`);
  if (total !== accounts * balance)
    add('wrong-total', `a read saw a total of ${total} instead of ${accounts * balance}`);
  const negative = balances.find(([, each]) => each < 0);
  if (negative !== undefined) add('negative-balance', `a read saw ${negative[1]} on account ${negative[0]}`);
  return found;
}

function badTransfers(calls: readonly Call[], present: readonly Transfer[]): Anomaly[] {
  const found: Anomaly[] = [];
  const count = new Map<string, number>();
  for (const { id } of present) count.set(id, (count.get(id) ?? 0) + 1);
  const asked = new Map<string, Call>();
  for (const call of calls) if (call.f === 'transfer') asked.set((call.asked as Transfer).id, call);
  for (const [id, times] of count) {
    const call = asked.get(id);
    const detail = call === undefined ? [] : [describeCall(call)];
    if (times > 1)
      found.push({ kind: 'doubled-transfer', summary: `transfer ${id} is there ${times} times`, detail });
    if (call === undefined)
      found.push({ kind: 'unasked-transfer', summary: `transfer ${id} was never sent`, detail });
    if (call?.outcome === 'fail')
      found.push({
        kind: 'failed-transfer',
        summary: `transfer ${id} was told that it failed, and is there`,
        detail,
      });
  }
  for (const [id, call] of asked) {
    if (call.outcome !== 'ok' || count.has(id)) continue;
    found.push({
      kind: 'lost-transfer',
      summary: `transfer ${id} was acknowledged and is missing`,
      detail: [describeCall(call)],
    });
  }
  return found;
}

function badSums(
  balances: Balances,
  transfers: readonly Transfer[],
  { balance }: AccountsOptions,
): Anomaly[] {
  const expected = new Map(balances.map(([id]) => [id, balance]));
  const move = (id: number, amount: number): void => void expected.set(id, (expected.get(id) ?? 0) + amount);
  for (const { from, to, amount } of transfers) {
    move(from, -amount);
    move(to, amount);
  }
  const wrong = balances.filter(([id, each]) => expected.get(id) !== each);
  if (wrong.length === 0) return [];
  const detail = wrong.map(
    ([id, each]) => `account ${id} has ${each}; its transfers make ${expected.get(id)}`,
  );
  return [{ kind: 'wrong-balance', summary: 'balances are not what the transfers make of them', detail }];
}
