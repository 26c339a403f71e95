/**
 * Has a copy of another replica's database take the place of what is lost here.
 *
 * Responsible for: what becomes of what is here, and telling what happens. Whom to ask, and how often, is state-transfer.ts; how a copy is received the adapters' business.
 * Invariants: what is damaged, or differs, is condemned durably before anything else, and set aside once another replica has begun to send, before anything takes its place; what is only presumed damaged is condemned then, too;
 * what is only behind, went another way, or is half a copy is made equal where it stands.
 */
import type { Duplex } from 'node:stream';
import type { ApplyTraceEvent } from '../../api/events.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { CopiedDatabase, CopyProgress } from '../../ports/copy.ts';
import type { DatabaseDirectory, DirectoryContents, Loss } from '../../ports/database-directory.ts';
import { transferState, type StateTransferOptions } from './state-transfer.ts';

export interface ReplaceOptions
  extends Pick<StateTransferOptions, 'fetcher' | 'sources' | 'tracker' | 'logger' | 'timers'> {
  readonly directory: Pick<DatabaseDirectory, 'inspect' | 'condemn' | 'setAside' | 'acquit'>;
  /** Receives a whole copy over this channel into the directory of the database. `clear` moves what is there out of the way: to be awaited when the other has agreed to send, before anything is written. @throws CopyError */
  readonly receive: (
    channel: Duplex,
    from: ReplicaId,
    onProgress: (progress: CopyProgress) => void,
    signal: AbortSignal,
    clear: (() => Promise<void>) | null,
  ) => Promise<CopiedDatabase>;
  readonly onEvent: (event: ApplyTraceEvent) => void;
}

const pace = { retryMs: 300, retryMsMax: 5000, failedMsMax: 60_000 } as const;

/** True when it is there; false: the signal has ended it, or it was only presumed lost, and nobody could help. */
export async function replaceDatabase(
  options: ReplaceOptions,
  loss: Loss,
  ended: AbortSignal,
): Promise<boolean> {
  const { directory, tracker, receive, onEvent } = options;
  const isPresumed = loss.isPresumed === true;
  tracker.begin(loss.cause, 'copying');
  const found = await directory.inspect().catch(() => null);
  const isInPlace = loss.cause === 'parted' || loss.cause === 'logPurged' || isHalfCopied(found);
  const isThere = !isInPlace && found?.kind !== 'missing';
  if (isThere && !isPresumed) await directory.condemn(loss);
  let isCleared = !isThere;
  const clear = async (): Promise<void> => {
    if (isPresumed) await directory.condemn({ cause: loss.cause, reason: loss.reason });
    await directory.setAside();
    isCleared = true;
  };
  const copy = await transferState(
    {
      ...options,
      ...pace,
      asksOnce: () => isPresumed && !isCleared,
      receive: async (channel, from, onProgress, signal) => {
        let begun = false;
        const begin = (progress: CopyProgress): void => {
          if (!begun) onEvent({ name: 'BeginCopy', source: from });
          begun = true;
          onProgress(progress);
        };
        try {
          return await receive(channel, from, begin, signal, isCleared ? null : clear);
        } catch (error) {
          if (begun) onEvent({ name: 'GiveUpCopy', source: from });
          throw error;
        }
      },
    },
    ended,
  );
  if (copy === null) {
    if (!ended.aborted) tracker.notReplaced();
    return false;
  }
  await directory.acquit();
  const { slot, end: position, timeline } = copy.position;
  onEvent({ name: 'EndCopy', source: copy.from, slot, position, timeline });
  tracker.starting();
  return true;
}

/** What is here is another replica's as far as it goes: the next attempt goes on with it. */
function isHalfCopied(found: DirectoryContents | null): boolean {
  return found?.kind === 'usable' && found.state.role.kind === 'copying';
}
