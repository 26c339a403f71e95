/** When a copy or a backup may count as whole: everything that its pages rest on is chosen, and durable here. */
import { setTimeout as sleep } from 'node:timers/promises';
import { formatLsn, type Lsn } from '../../../wal/lsn.ts';
import { CopyError } from '../../../ports/copy.ts';
import type { DirectoryState } from '../directory-state.ts';

/** Of what is durable: everything up to `position.end` is chosen, and flushed in pg_wal here. */
export type DurablePosition = Pick<DirectoryState, 'position' | 'configuration'>;

export interface Chosen {
  readonly position: () => DurablePosition;
  /** Resolves true when everything up to `lsn` is chosen, false when it is certain that it will not be under this leadership. */
  readonly awaitChosen: (lsn: Lsn, signal: AbortSignal) => Promise<boolean>;
}

/** So long the durable position may stay behind what is chosen. */
const durableWithinMs = 30_000;

/** The position that the copy has, at or above `stop`. @throws CopyError if there is none */
export async function untilChosen(
  stop: Lsn,
  { position, awaitChosen }: Chosen,
  signal: AbortSignal,
): Promise<DurablePosition> {
  if (!(await awaitChosen(stop, signal))) {
    const why = 'the source lost its leadership before all that the copy holds was chosen';
    throw new CopyError('transferFailed', why);
  }
  const deadline = performance.now() + durableWithinMs;
  for (;;) {
    const durable = position();
    if (durable.position.end >= stop) return durable;
    if (signal.aborted || performance.now() > deadline) {
      const has = `its WAL durable up to ${formatLsn(durable.position.end)}`;
      throw new CopyError(
        'sourceUnavailable',
        `the source has ${has}, and the copy needs ${formatLsn(stop)}`,
      );
    }
    await sleep(20);
  }
}
