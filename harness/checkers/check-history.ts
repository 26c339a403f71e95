/** Which checker judges which workload. Pure; the same for a run that has just ended and for a history file. */
import { checkAccounts, type AccountsOptions } from './accounts.ts';
import { countOutcomes, type Verdict } from './anomaly.ts';
import { checkElementSet } from './element-set.ts';
import { pairCalls, type Call, type History, type HistoryHeader } from './history.ts';
import { checkListAppend } from './list-append.ts';
import { type ReadCount, tallyReads } from './reads-tally.ts';
import { checkRegisters } from './register.ts';
import { checkUniqueIds } from './unique-ids.ts';

export const workloadNames = ['register', 'list-append', 'bank', 'ids', 'set'] as const;
export type WorkloadName = (typeof workloadNames)[number];

export interface CheckedHistory extends Verdict {
  readonly workload: string;
  readonly counts: Readonly<Record<'ok' | 'fail' | 'info', number>>;
  /** Of each mode in which clients were to read. */
  readonly reads: readonly ReadCount[];
  readonly checkMs: number;
}

/** @throws HistoryError if it is no history; RangeError if the workload is not known */
export function checkHistory({ header, operations }: History): CheckedHistory {
  const startedMs = performance.now();
  const calls = pairCalls(operations);
  const verdict = judge(header, calls);
  return {
    ...verdict,
    workload: header.workload,
    counts: countOutcomes(calls),
    reads: tallyReads(calls, header.readModes ?? []),
    checkMs: performance.now() - startedMs,
  };
}

function judge({ workload, options }: HistoryHeader, calls: readonly Call[]): Verdict {
  switch (workload as WorkloadName) {
    case 'register':
      return checkRegisters(calls);
    case 'list-append':
      return checkListAppend(calls);
    case 'bank':
      return checkAccounts(calls, options as unknown as AccountsOptions);
    case 'ids':
      return checkUniqueIds(calls);
    case 'set':
      return checkElementSet(calls);
    default:
      throw new RangeError(`no checker for the workload ${workload}`);
  }
}
