/**
 * The source's files on their way to the target: each is announced, compared block by block with the evidence that comes back, and what differs is sent.
 *
 * Responsible for: how many files are announced ahead, comparing, checking what is sent for damage, and the pace. Which files there are is its caller's business.
 * Invariants: memory is bounded by the files announced ahead and `heldBytesMax`; blocks that were read while this was a standby's directory leave only after it was found to be one still, so that what a
 * target has of a copy that is cut off is chosen; a damaged page is never sent.
 */
import type { FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { lsnNone, type Lsn } from '../../../wal/lsn.ts';
import { CopyError } from '../../../ports/copy.ts';
import { BlockReader } from './block-reader.ts';
import type { Conversation } from './conversation.ts';
import { absentEvidence, type Evidence, isEqualBy } from './evidence.ts';
import type { FileClass } from './file-class.ts';
import { blocksBytesMax, type CopyMessage } from './messages.ts';
import type { Pacer } from './pacer.ts';
import { isWholePage, pageBytes, pageLsn } from './page.ts';

export interface OpenFile {
  /** Relative to the data directory; for people. */
  readonly path: string;
  readonly name: string;
  readonly class: FileClass;
  readonly handle: FileHandle;
  /** As many are copied at the most. */
  readonly bytes: number;
  /** Looks at each chunk before it is compared, and may change it. `from`: where it begins in the file. */
  readonly prepare?: (chunk: Buffer, from: number) => void;
}

export interface FileSenderOptions {
  readonly conversation: Conversation;
  readonly pacer: Pacer;
  /** Pages that are changed above it are repaired by replay: one that is being written now is not damaged. */
  readonly redo: Lsn;
  /** Resolves when what was read before may leave. @throws CopyError if the copy is void */
  readonly mayLeave: () => Promise<void>;
}

/** Announced and not compared yet. */
const aheadMax = 64;
const heldBytesMax = 1024 * 1024;
const heldMessagesMax = 256;
/** Files up to this size are read as soon as they are announced. */
const smallBytes = 64 * 1024;
/** A page that is being written is whole again within moments. */
const rereadsMax = 10;
const rereadMs = 5;

interface Announced extends OpenFile {
  readonly number: number;
  readonly reader: BlockReader;
}

export class FileSender {
  private readonly options: FileSenderOptions;
  private readonly ahead: Announced[] = [];
  private held: CopyMessage[] = [];
  private heldBytes = 0;
  /** Of the file that is being compared: evidence that came and was not used yet, and whether there is more. */
  private evidence: readonly Evidence[] = [];
  private evidenceAt = 0;
  private hasMore = false;
  files = 0;
  /** That were sent. */
  blocks = 0;

  constructor(options: FileSenderOptions) {
    this.options = options;
  }

  beginDirectory(path: string, directories: readonly string[]): Promise<void> {
    return this.options.conversation.send({ kind: 'directory', path, directories: [...directories] });
  }

  endDirectory(): Promise<void> {
    return this.options.conversation.send({ kind: 'directoryEnd' });
  }

  /** Takes the file over: it is closed when it has been compared. */
  async add(file: OpenFile): Promise<void> {
    const announced = { ...file, number: this.files, reader: new BlockReader(file.handle, file.bytes) };
    this.files += 1;
    this.ahead.push(announced);
    if (file.bytes <= smallBytes) announced.reader.prefetch();
    await this.options.conversation.send({
      kind: 'file',
      file: announced.number,
      bytes: file.bytes,
      name: file.name,
    });
    if (this.ahead.length >= aheadMax) await this.compareNext();
  }

  /** Resolves when all that was announced has been sent. */
  async finish(): Promise<void> {
    while (this.ahead.length > 0) await this.compareNext();
    await this.flush();
  }

  /** Lets go of all files. */
  async close(): Promise<void> {
    for (const { reader, handle } of this.ahead.splice(0)) {
      await reader.stop();
      await handle.close().catch(() => undefined);
    }
  }

  private async compareNext(): Promise<void> {
    const file = this.ahead[0]!;
    this.evidence = [];
    this.evidenceAt = 0;
    this.hasMore = true;
    let compared = 0;
    for (let chunk = await file.reader.read(); chunk !== null; chunk = await file.reader.read()) {
      file.prepare?.(chunk, compared);
      await this.compareChunk(file, chunk, compared / pageBytes);
      compared += chunk.length;
      this.options.conversation.compared += chunk.length;
    }
    // Of a file that got shorter the target may have said more.
    while (this.hasMore) await this.moreEvidence(file);
    await this.hold({ kind: 'fileEnd', file: file.number, bytes: compared }, 0);
    this.ahead.shift();
    await file.handle.close();
  }

  private async compareChunk(file: Announced, chunk: Buffer, firstBlock: number): Promise<void> {
    let runFrom = -1;
    for (let at = 0; at < chunk.length; at += pageBytes) {
      const length = Math.min(pageBytes, chunk.length - at);
      const evidence = await this.nextEvidence(file);
      if (isEqualBy(evidence, chunk, at, length)) {
        await this.sendRun(file, chunk, firstBlock, runFrom, at);
        runFrom = -1;
        continue;
      }
      if (file.class.kind === 'relation' && length === pageBytes) {
        await this.assertWhole(file, chunk, at, file.class.firstBlock + firstBlock + at / pageBytes);
      }
      if (runFrom < 0) runFrom = at;
    }
    await this.sendRun(file, chunk, firstBlock, runFrom, chunk.length);
  }

  private async sendRun(
    file: Announced,
    chunk: Buffer,
    firstBlock: number,
    from: number,
    to: number,
  ): Promise<void> {
    if (from < 0) return;
    const data = chunk.subarray(from, to);
    if (data.length > blocksBytesMax) throw new Error('a chunk is larger than a message');
    this.blocks += Math.ceil(data.length / pageBytes);
    await this.hold(
      { kind: 'blocks', file: file.number, block: firstBlock + from / pageBytes, data },
      data.length,
    );
  }

  private nextEvidence(file: Announced): Evidence | Promise<Evidence> {
    if (this.evidenceAt < this.evidence.length) return this.evidence[this.evidenceAt++]!;
    if (!this.hasMore) return absentEvidence;
    return this.moreEvidence(file).then(() => this.nextEvidence(file));
  }

  private async moreEvidence({ number }: Announced): Promise<void> {
    const { file, evidence, last } = await this.options.conversation.expect('have');
    if (file !== number)
      throw new CopyError('copyInvalid', `evidence of file ${file} came where that of ${number} was due`);
    this.evidence = evidence;
    this.evidenceAt = 0;
    this.hasMore = !last;
  }

  /** Reads a page again that is not whole, and puts it in its place. @throws CopyError if it stays so, and replay would not repair it */
  private async assertWhole(file: Announced, chunk: Buffer, at: number, block: number): Promise<void> {
    for (let reread = 0; !isWholePage(chunk, at, block); reread += 1) {
      const lsn = pageLsn(chunk, at);
      if (lsn >= this.options.redo && lsn !== lsnNone) return;
      if (reread === rereadsMax) {
        throw new CopyError(
          'sourceDamaged',
          `block ${block} of ${file.path} is damaged: its checksum is wrong`,
        );
      }
      await sleep(rereadMs);
      const offset = (block - (file.class.kind === 'relation' ? file.class.firstBlock : 0)) * pageBytes;
      const { bytesRead } = await file.handle.read(chunk, at, pageBytes, offset);
      // The file was cut off before this block: replay does so at the target, too.
      if (bytesRead < pageBytes) return void chunk.fill(0, at, at + pageBytes);
    }
  }

  private async hold(message: CopyMessage, bytes: number): Promise<void> {
    this.held.push(message);
    this.heldBytes += bytes;
    if (this.heldBytes >= heldBytesMax || this.held.length >= heldMessagesMax) await this.flush();
  }

  private async flush(): Promise<void> {
    const { conversation, mayLeave, pacer } = this.options;
    const leaving = this.held;
    this.held = [];
    this.heldBytes = 0;
    if (leaving.some(({ kind }) => kind === 'blocks')) await mayLeave();
    for (const message of leaving) {
      await conversation.send(message);
      await pacer.pass(message.kind === 'blocks' ? message.data.length : 0);
    }
  }
}
