/**
 * Makes the database of a peer out of what is in a directory: a deposed leader's, one that was away too long, or nothing.
 *
 * Responsible for: the target's side of the conversation (messages.ts), what may be believed of the blocks that are there, and the marks in the directory. How blocks are compared is evidence.ts. Starts no PostgreSQL; none may run
 * in the directory.
 * Invariants: before the first byte changes the directory says durably that it is being copied into, and its pg_control, without which no PostgreSQL starts, is gone; it is a standby's, with the position that the source gave, only
 * when every file and name is on the disk. Interrupted at any instant it stays what it was called, and the next attempt, whatever its source, goes on with the blocks that are there.
 */
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import { historyName, type Timeline } from '../../../wal/lsn.ts';
import type { WalPosition } from '../../../wal/position.ts';
import { type CopiedDatabase, CopyError, type CopyProgress } from '../../../ports/copy.ts';
import { syncPath, writeFile } from '../account-files.ts';
import { decodeDirectoryState, type DirectoryState } from '../directory-state.ts';
import { readLabel } from './backup-session.ts';
import { type ControlFacts, readControlFacts } from './control-file.ts';
import { Conversation, outOfPlace } from './conversation.ts';
import type { CopyOwner } from './copy-source.ts';
import { controlFile, labelFile, walDirectory } from './file-class.ts';
import { type Installation, unlikeFiles, unlikeness } from './installation.ts';
import { copyProtocol, type MessageOf } from './messages.ts';
import { TargetFiles } from './target-files.ts';
import { assertSpace, toReceiveError } from './target-space.ts';
import { lookAt, markCopying, markStandby } from './target-marks.ts';
import { TargetTree } from './target-tree.ts';

export interface ReceiveCopyOptions {
  /** To the source; it is closed in the end, whatever happens. */
  readonly channel: Duplex;
  readonly from: ReplicaId;
  /** Holds `data`, `state.json` and `cluster`. Made if it is not there. */
  readonly directory: string;
  /** Whose data it is. The file `cluster` must name the cluster, unless there is nothing yet. */
  readonly owner: CopyOwner;
  readonly installation: Installation;
  /** Whether this replica's log goes on from there. Asked twice: when the source says where it is, and of what the copy has. */
  readonly isOfUse: (position: WalPosition) => boolean;
  readonly onProgress?: (progress: CopyProgress) => void;
  readonly signal?: AbortSignal;
  /** Moves a database out of the way that must not be gone on from: called once the source has begun to send. Default: null, and what is there is made equal. */
  readonly clear?: (() => Promise<void>) | null;
}

/** @throws CopyError; the signal's reason */
export async function receiveCopy(options: ReceiveCopyOptions): Promise<CopiedDatabase> {
  const { channel, signal } = options;
  const abort = (): void =>
    void channel.destroy(new CopyError('transferFailed', 'given up', { cause: signal?.reason }));
  signal?.addEventListener('abort', abort, { once: true });
  try {
    signal?.throwIfAborted();
    return await new Receiving(options).run();
  } catch (error) {
    signal?.throwIfAborted();
    throw toReceiveError(error);
  } finally {
    signal?.removeEventListener('abort', abort);
    channel.destroy();
  }
}

/** One attempt. */
class Receiving {
  private readonly options: ReceiveCopyOptions;
  private readonly conversation: Conversation;
  private readonly data: string;
  private readonly tree: TargetTree;
  private bytesToCompare = 0;
  private sourceCompared = 0;

  constructor(options: ReceiveCopyOptions) {
    this.options = options;
    this.conversation = new Conversation(options.channel, (compared) => {
      this.sourceCompared = compared;
    });
    this.data = join(options.directory, 'data');
    this.tree = new TargetTree(this.data);
  }

  async run(): Promise<CopiedDatabase> {
    const { conversation, options } = this;
    let files: TargetFiles | null = null;
    try {
      const { clear = null, directory, owner } = options;
      const found = clear === null ? await lookAt(directory, owner) : null;
      const begin = await this.agree(found?.control ?? null);
      await conversation.send({ kind: 'go' });
      const started = await conversation.expect('started');
      this.bytesToCompare = started.bytesToCompare;
      await assertSpace(directory, started.bytesToCompare);
      await clear?.();
      const before = found ?? (await lookAt(directory, owner));
      const byPosition = await markCopying({
        ...options,
        before,
        source: started.database,
        sourceControl: begin.control,
      });
      await this.tree.removeLeftovers();
      files = new TargetFiles(this.data, conversation, byPosition);
      const complete = await this.receive(files);
      const state = await this.finish(files, complete, begin.control);
      return {
        from: options.from,
        position: state.position,
        configuration: state.configuration,
        bytesReceived: conversation.bytesReceived,
        bytesTotal: complete.bytesTotal,
        blocksReceived: files.blocks,
      };
    } finally {
      conversation.close();
      await files?.close();
    }
  }

  /** Until it is known that the source's copy is one for this replica. */
  private async agree(control: ControlFacts | null): Promise<MessageOf<'begin'>> {
    const { owner, installation, isOfUse } = this.options;
    await this.conversation.send({ kind: 'hello', protocol: copyProtocol, ...owner, installation });
    const begin = await this.conversation.expect('begin');
    const unlike = unlikeness(installation, begin.installation) ?? unlikeFiles(control, begin.control);
    if (unlike !== null)
      throw new CopyError('unlike', `the database of ${this.options.from} cannot be copied: ${unlike}`);
    this.assertOfUse(stateIn(begin.state), isOfUse);
    return begin;
  }

  private assertOfUse({ position }: DirectoryState, isOfUse: ReceiveCopyOptions['isOfUse']): void {
    if (isOfUse(position)) return;
    const { from } = this.options;
    throw new CopyError(
      'tooOld',
      `the database of ${from} is at slot ${position.slot}, and this replica's log begins above`,
    );
  }

  private async receive(files: TargetFiles): Promise<MessageOf<'complete'>> {
    let failure: unknown = null;
    const telling = files.tell().catch((error: unknown) => {
      failure ??= error;
      this.conversation.close();
    });
    try {
      for (;;) {
        const message = await this.conversation.receive();
        if (message === null)
          throw new CopyError('transferFailed', 'the source ended before the copy was complete');
        if (message.kind === 'complete') return message;
        await this.take(files, message);
      }
    } catch (error) {
      this.conversation.close();
      failure ??= error;
      throw failure;
    } finally {
      files.end();
      await telling;
    }
  }

  private async take(
    files: TargetFiles,
    message: Exclude<Awaited<ReturnType<Conversation['receive']>>, null>,
  ): Promise<void> {
    switch (message.kind) {
      case 'directory':
        return this.tree.beginDirectory(message.path, message.directories);
      case 'file':
        return files.announce(message.file, await this.tree.name(message.name), message.bytes);
      case 'directoryEnd':
        return this.tree.endDirectory();
      case 'blocks':
        await files.write(message.file, message.block, message.data);
        return this.tellProgress(files);
      case 'fileEnd':
        await files.complete(message.file, message.bytes);
        return this.tellProgress(files);
      case 'history':
        return this.writeFile(join(walDirectory, historyName(message.timeline as Timeline)), message.text);
      case 'hello':
      case 'begin':
      case 'go':
      case 'started':
      case 'have':
      case 'complete':
        throw outOfPlace(message.kind);
      default:
        message satisfies never;
    }
  }

  private tellProgress(files: TargetFiles): void {
    const { bytesToCompare, conversation, sourceCompared } = this;
    const bytesCompared = Math.max(sourceCompared, files.bytesCompared);
    const { bytesReceived } = conversation;
    this.options.onProgress?.({
      bytesCompared,
      bytesToCompare: Math.max(bytesToCompare, bytesCompared),
      bytesReceived,
    });
  }

  /** Everything is here: makes a standby's directory of it. */
  private async finish(
    files: TargetFiles,
    complete: MessageOf<'complete'>,
    source: ControlFacts,
  ): Promise<DirectoryState> {
    const { directory, isOfUse, signal } = this.options;
    await files.settle();
    if (files.files !== complete.files || files.blocks !== complete.blocks) {
      const came = `${files.files} files and ${files.blocks} blocks`;
      throw new CopyError(
        'copyInvalid',
        `${came} came where ${complete.files} and ${complete.blocks} were sent`,
      );
    }
    const control = Buffer.from(complete.control, 'base64');
    if (readControlFacts(control).system !== source.system)
      throw new CopyError('copyInvalid', 'pg_control is of another cluster');
    readLabel(complete.label);
    const { position, configuration } = stateIn(complete.state);
    const state: DirectoryState = { role: { kind: 'standby' }, position, configuration };
    this.assertOfUse(state, isOfUse);
    await this.writeFile(labelFile, complete.label);
    await this.writeFile(controlFile, control);
    await this.tree.sync();
    signal?.throwIfAborted();
    await markStandby(directory, state);
    return state;
  }

  private async writeFile(path: string, content: string | Buffer): Promise<void> {
    const full = join(this.data, path);
    await writeFile(full, content, { mode: 0o600 });
    await syncPath(full);
  }
}

/** @throws CopyError */
function stateIn(text: string): DirectoryState {
  try {
    return decodeDirectoryState(text, 'the position of the source');
  } catch (cause) {
    throw new CopyError('copyInvalid', (cause as Error).message, { cause });
  }
}
