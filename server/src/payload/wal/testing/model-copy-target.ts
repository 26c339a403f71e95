/**
 * Takes a copy of a modelled database into a directory. What is there is replaced page by page: a crash leaves it half done, and it says so.
 *
 * Invariants: before the first page changes the directory says durably that it is being copied into; it is a standby's only when all is there.
 */
import type { Duplex } from 'node:stream';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import { CopyError, type CopiedDatabase, type CopyProgress } from '../../../ports/copy.ts';
import type { DatabaseDirectory } from '../../../ports/database-directory.ts';
import { positionNone, type WalPosition } from '../../../wal/position.ts';
import { receive, send } from './copy-messages.ts';
import type { ModelDisk } from './model-disk.ts';

/** What a page counts for, however little is in it. */
const pageBytes = 8192;

export interface ReceiveModelCopyOptions {
  readonly channel: Duplex;
  readonly from: ReplicaId;
  readonly disk: ModelDisk;
  readonly directory: DatabaseDirectory;
  readonly isOfUse: (position: WalPosition) => boolean;
  readonly onProgress: (progress: CopyProgress) => void;
  readonly signal: AbortSignal;
  readonly clear: (() => Promise<void>) | null;
}

/** @throws CopyError; the signal's reason */
export async function receiveModelCopy(options: ReceiveModelCopyOptions): Promise<CopiedDatabase> {
  const { channel, signal } = options;
  const abort = (): void => void channel.destroy(new CopyError('transferFailed', 'given up'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    return await take(options);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CopyError) throw error;
    throw new CopyError('transferFailed', error instanceof Error ? error.message : String(error));
  } finally {
    signal.removeEventListener('abort', abort);
    channel.destroy();
  }
}

async function take({
  channel,
  from,
  disk,
  directory,
  ...options
}: ReceiveModelCopyOptions): Promise<CopiedDatabase> {
  const begin = await receive(channel, 'begin');
  if (!options.isOfUse(begin.position)) throw new CopyError('tooOld', 'the log does not go on from there');
  await options.clear?.();
  const { position = positionNone, configuration = null } = disk.state ?? {};
  await directory.write({ role: { kind: 'copying', from }, position, configuration });
  disk.control = null;
  await send(channel, { kind: 'go' });
  let pages = 0;
  const sent = new Set<string>();
  for (;;) {
    const message = await receive(channel);
    switch (message.kind) {
      case 'pages':
        for (const [key, page] of message.pages) disk.pages.set(key, page);
        for (const [key] of message.pages) sent.add(key);
        pages += message.pages.length;
        options.onProgress({
          bytesCompared: pages * pageBytes,
          bytesToCompare: (pages + message.left) * pageBytes,
          bytesReceived: pages * pageBytes,
        });
        break;
      case 'outcomes':
        for (const key of disk.pages.keys()) if (!sent.has(key)) disk.pages.delete(key);
        disk.outcomes = new Map(message.outcomes);
        disk.wal.removeAll();
        break;
      case 'wal':
        disk.wal.write(message.timeline, message.at, message.bytes);
        break;
      case 'history':
        disk.wal.histories.set(message.timeline, message.text);
        break;
      case 'complete': {
        const { state, control, prepared } = message;
        if (!options.isOfUse(state.position))
          throw new CopyError('tooOld', 'the log does not go on from there any more');
        disk.wal.syncAll();
        disk.prepared = new Map(prepared);
        disk.control = control;
        await directory.write(state);
        return {
          from,
          position: state.position,
          configuration: state.configuration,
          bytesReceived: pages * pageBytes,
          bytesTotal: pages * pageBytes,
          blocksReceived: pages,
        };
      }
      case 'begin':
      case 'go':
      case 'failed':
        throw new CopyError('copyInvalid', `${message.kind} is out of place`);
    }
  }
}
