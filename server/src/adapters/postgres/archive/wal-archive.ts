/**
 * Keeps chosen WAL in a directory, for restoring a group as it was at a point in time.
 *
 * Responsible for: what waits to be written, making it durable soon, and a disk that fails. Is given the chosen ranges that have effect, in order. Files and gaps are archive-writer.ts; what there is in such a directory is
 * archive-contents.ts.
 * Invariants: a disk that fails or is full stops the archive, never the replica; what waits to be written is bounded.
 */
import { makeDirectories } from '../../file-system.ts';
import { formatLsn, type Lsn } from '../../../wal/lsn.ts';
import type { ArchivedRange, ArchiveStatus, WalArchive } from '../../../ports/wal-archive.ts';
import { ArchiveError, readArchiveState } from './archive-contents.ts';
import { ArchiveWriter, type ArchiveWriterOptions } from './archive-writer.ts';

export interface WalArchiveOptions extends Omit<ArchiveWriterOptions, 'onGap'> {
  /** What was given is durable so soon, at the latest. */
  readonly flushMs?: number;
  /** So long nothing is tried after the disk has failed. */
  readonly retryMs?: number;
  /** Told when something goes wrong, and null when it goes on again. */
  readonly onProblem?: (problem: string | null) => void;
}

const queueBytesMax = 16 * 1024 * 1024;

/** Makes the directory if it is not there; nobody else may write to it. @throws ArchiveError if it is another cluster's archive; the file system's error */
export async function openWalArchive(
  options: WalArchiveOptions,
): Promise<WalArchive & { flush(): Promise<void> }> {
  const { directory, system } = options;
  await makeDirectories(directory, 0o700);
  const state = await readArchiveState(directory);
  if (state !== null && state.system !== system) {
    const whose = `the cluster with the identifier ${state.system}, not ${system}`;
    throw new ArchiveError(`${directory} is the archive of ${whose}`);
  }
  const { cluster = null } = options;
  if (state !== null && cluster !== null && state.cluster !== null && state.cluster !== cluster) {
    // A group that was restored goes on with the identifier of the old one, and would cut off what that one has archived since.
    throw new ArchiveError(
      `${directory} is the archive of the group that had the name ${state.cluster}, from which this one (${cluster}) may have been restored. It is kept as it is: name an empty directory`,
    );
  }
  const archive = new Archive(options);
  await archive.begin();
  return archive;
}

class Archive implements WalArchive {
  private readonly options: WalArchiveOptions;
  private readonly timer: NodeJS.Timeout;
  private writer: ArchiveWriter;
  private readonly queue: ArchivedRange[] = [];
  private queueBytes = 0;
  private waiting: (() => void)[] = [];
  private working: Promise<void> | null = null;
  private problem: string | null = null;
  /** Null: the disk does. */
  private failedAtMs: number | null = null;
  private gaps = 0;

  constructor(options: WalArchiveOptions) {
    this.options = options;
    this.writer = this.newWriter();
    this.timer = setInterval(() => void this.flush(), options.flushMs ?? 5_000);
    this.timer.unref();
  }

  private newWriter(): ArchiveWriter {
    const onGap = (gap: string): void => {
      this.gaps += 1;
      this.tell(gap);
    };
    return new ArchiveWriter({ ...this.options, onGap });
  }

  /** @throws the file system's error */
  begin(): Promise<void> {
    return this.writer.resume();
  }

  status(): ArchiveStatus {
    const { end, durable, bytes, timeline } = this.writer;
    return {
      timeline: timeline === 0 ? null : timeline,
      end,
      durable,
      bytes,
      gaps: this.gaps,
      problem: this.problem,
    };
  }

  /** The next range that is chosen. Resolves when the next one may be given. Never rejects. */
  async append(range: ArchivedRange): Promise<void> {
    this.queue.push(range);
    this.queueBytes += range.data.byteLength;
    this.work();
    while (this.queueBytes > queueBytesMax) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private work(): void {
    if (this.working !== null || this.queue.length === 0) return;
    this.working = this.drain().finally(() => {
      this.working = null;
    });
  }

  private async drain(): Promise<void> {
    for (let range = this.queue.shift(); range !== undefined; range = this.queue.shift()) {
      await this.guarded(range, (one) => this.writer.take(one));
      this.queueBytes -= range.data.byteLength;
      for (const resolve of this.waiting.splice(0)) resolve();
    }
  }

  /** Makes durable what was given. Never rejects. */
  flush(): Promise<void> {
    return this.between(() => this.writer.makeDurable());
  }

  forgetBelow(lsn: Lsn): Promise<void> {
    return this.between(() => this.writer.forgetBelow(lsn));
  }

  /** Between two ranges. */
  private async between(work: () => Promise<void>): Promise<void> {
    while (this.working !== null) await this.working;
    this.working = this.guarded(null, work);
    await this.working;
    this.working = null;
    this.work();
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
    await this.writer.close();
  }

  /** The disk's failures end here; while they last, what is given is dropped, and missed afterwards. */
  private async guarded<Given>(given: Given, work: (given: Given) => Promise<void>): Promise<void> {
    if (this.failedAtMs !== null && performance.now() - this.failedAtMs < (this.options.retryMs ?? 5_000))
      return;
    try {
      if (this.failedAtMs !== null) {
        this.writer = this.newWriter();
        await this.writer.resume();
      }
      this.failedAtMs = null;
      await work(given);
      if (this.writer.end !== null) this.tell(null);
    } catch (error) {
      this.failedAtMs = performance.now();
      const { end } = this.writer;
      await this.writer.close().catch(() => undefined);
      this.writer.end = null;
      const from = end === null ? '' : ` from ${formatLsn(end)} on`;
      this.tell(`WAL${from} is not archived: ${(error as Error).message}`);
    }
  }

  private tell(problem: string | null): void {
    if (problem === this.problem) return;
    this.problem = problem;
    this.options.onProblem?.(problem);
  }
}
