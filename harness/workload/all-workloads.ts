/** The workloads by name. */
import { workloadNames, type WorkloadName } from '../checkers/check-history.ts';
import { bankWorkload } from './bank-workload.ts';
import { idsWorkload } from './ids-workload.ts';
import { listAppendWorkload } from './list-append-workload.ts';
import { registerWorkload } from './register-workload.ts';
import { setWorkload } from './set-workload.ts';
import type { Workload } from './workload.ts';

export interface WorkloadOptions {
  readonly requestIds: boolean;
  /** Sequences may hand out numbers in advance. */
  readonly inAdvance: boolean;
}

export function createWorkload(name: WorkloadName, options: WorkloadOptions): Workload {
  switch (name) {
    case 'register':
      return registerWorkload();
    case 'list-append':
      return listAppendWorkload();
    case 'bank':
      return bankWorkload(options);
    case 'ids':
      return idsWorkload(options);
    case 'set':
      return setWorkload();
    default:
      return name satisfies never;
  }
}

/** `all`, or names separated by commas. @throws Error if one is not known */
export function parseWorkloads(text: string): readonly WorkloadName[] {
  if (text === 'all') return workloadNames;
  return text.split(',').map((part) => {
    const name = workloadNames.find((each) => each === part);
    if (name === undefined) throw new Error(`no workload ${part}; there are ${workloadNames.join(', ')}`);
    return name;
  });
}
