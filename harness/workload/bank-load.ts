/**
 * The bank under load, kept in memory: for tests that break a cluster and then want to know what its clients were told.
 *
 * Responsible for: the tables, the clients, and putting their history to the bank's checker.
 */
import { checkAccounts, type AccountsOptions } from '../checkers/accounts.ts';
import type { Anomaly } from '../checkers/anomaly.ts';
import { pairCalls, type Operation } from '../checkers/history.ts';
import { bankWorkload } from './bank-workload.ts';
import { startWorkload, type RunError } from './run-workload.ts';
import { SqlSession } from './sql-session.ts';

const finalMsMax = 30_000;

export interface BankLoad {
  /** Since the load began; the clock of all times below. */
  readonly nowUs: () => number;
  /** Stops the clients. What was told to them is judged by `finish`. */
  stop(): Promise<void>;
  /** The last reads, on whatever replica answers, and the verdict. To be called when all is healed. */
  finish(): Promise<BankResult>;
}

export interface BankResult {
  readonly anomalies: readonly Anomaly[];
  readonly transfers: number;
  readonly reads: number;
  /** When each operation was acknowledged, ascending. */
  readonly okUs: readonly number[];
  readonly errors: readonly RunError[];
}

/** Longer than a change of leaders may take: nobody is to give up meanwhile. */
const connectMs = 6000;

export interface BankLoadOptions {
  readonly ports: readonly number[];
  readonly seed: number;
  /** 2: load that is twice as dense. */
  readonly pace?: number;
}

/** Every transfer has a request id, so that one whose outcome is unknown is repeated until it is known. */
export async function startBankLoad({ ports, seed, pace = 1 }: BankLoadOptions): Promise<BankLoad> {
  const workload = bankWorkload({ requestIds: true, lockInOrder: true });
  const setup = await SqlSession.open({ port: ports[0]!, connectMs: 10_000, statementMs: 20_000 });
  for (const text of workload.setup) await setup.statement(text, [], 'writes');
  setup.close();

  const startedMs = performance.now();
  const nowUs = (): number => Math.round((performance.now() - startedMs) * 1000);
  const operations: Operation[] = [];
  const okUs: number[] = [];
  const errors: RunError[] = [];
  const run = startWorkload({
    workload,
    ports,
    seed,
    pace,
    connectMs,
    nowUs,
    firstProcess: 0,
    history: { write: (operation) => void operations.push(operation), close: () => Promise.resolve() },
    onOk: (timeUs) => void okUs.push(timeUs),
    onError: (error) => void errors.push(error),
  });
  return {
    nowUs,
    stop: () => run.stop(),
    finish: async () => {
      await run.stop();
      await run.final(finalMsMax);
      const calls = pairCalls(operations);
      const { anomalies, gaveUp } = checkAccounts(calls, workload.options as unknown as AccountsOptions);
      if (gaveUp !== null) throw new Error(gaveUp);
      const count = (f: string): number =>
        calls.filter((call) => call.f === f && call.outcome === 'ok').length;
      return { anomalies, transfers: count('transfer'), reads: count('read'), okUs, errors };
    },
  };
}
