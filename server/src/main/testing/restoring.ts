/** For tests that restore: the whole of a backup and nothing more, watched by nobody. */
import type { RestoreFrom, RestoreProgress } from '../found-replica.ts';

export function backupAt(file: string): RestoreFrom {
  return { file, archive: null, target: { kind: 'end' } };
}

export const unobserved: RestoreProgress = {
  onBackup: () => undefined,
  onStep: () => undefined,
  onProgress: () => undefined,
};
