/**
 * Has a copy of another replica's database take the place of what is lost here.
 *
 * Responsible for: what becomes of what is here, and telling what happens. Whom to ask, and how often, is state-transfer.ts; how a copy is received the adapters' business.
 * Invariant: what is damaged, or differs, is condemned durably before anything else, and set aside before anything takes its place; what is only behind, went another way, or is half a copy is made equal where it stands.
 */
import type { Duplex } from 'node:stream';
import type { ApplyTraceEvent } from '../../api/events.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { CopiedDatabase, CopyProgress } from '../../ports/copy.ts';
import type { DatabaseDirectory, Loss } from '../../ports/database-directory.ts';
import { transferState, type StateTransferOptions } from './state-transfer.ts';

export interface ReplaceOptions
  extends Pick<StateTransferOptions, 'fetcher' | 'sources' | 'tracker' | 'logger' | 'timers'> {
  readonly directory: Pick<DatabaseDirectory, 'inspect' | 'condemn' | 'setAside' | 'acquit'>;
  /** Receives a whole copy over this channel into the directory of the database. @throws CopyError */
  readonly receive: (
    channel: Duplex,
    from: ReplicaId,
    onProgress: (progress: CopyProgress) => void,
    signal: AbortSignal,
  ) => Promise<CopiedDatabase>;
  readonly onEvent: (event: ApplyTraceEvent) => void;
}

const pace = { retryMs: 300, retryMsMax: 5000, failedMsMax: 60_000 } as const;

/** Resolves when it is there, or the signal has ended it. */
export async function replaceDatabase(
  options: ReplaceOptions,
  loss: Loss,
  ended: AbortSignal,
): Promise<void> {
  const { directory, tracker, receive, onEvent } = options;
  tracker.begin(loss.cause, 'copying');
  const isInPlace = loss.cause === 'parted' || loss.cause === 'logPurged' || (await isHalfCopied(directory));
  if (!isInPlace && (await directory.inspect()).kind !== 'missing') await directory.condemn(loss);
  const copy = await transferState(
    {
      ...options,
      ...pace,
      receive: async (channel, from, onProgress, signal) => {
        await directory.setAside();
        let begun = false;
        const begin = (progress: CopyProgress): void => {
          if (!begun) onEvent({ name: 'BeginCopy', source: from });
          begun = true;
          onProgress(progress);
        };
        try {
          return await receive(channel, from, begin, signal);
        } catch (error) {
          if (begun) onEvent({ name: 'GiveUpCopy', source: from });
          throw error;
        }
      },
    },
    ended,
  );
  if (copy === null) return;
  await directory.acquit();
  const { slot, end: position, timeline } = copy.position;
  onEvent({ name: 'EndCopy', source: copy.from, slot, position, timeline });
  tracker.starting();
}

/** What is here is another replica's as far as it goes: the next attempt goes on with it. */
async function isHalfCopied(directory: Pick<DatabaseDirectory, 'inspect'>): Promise<boolean> {
  const found = await directory.inspect();
  return found.kind === 'usable' && found.state.role.kind === 'copying';
}
