/**
 * Room on the file system of a replica's database, without which nothing is executed there.
 *
 * A function can catch PostgreSQL's error of a full disk, and then answers as at a replica that has room, with other data. So the disk must not become full while a request runs: below a floor none begins, and one that runs is given up,
 * its backend ended, and executed again when there is room.
 *
 * Responsible for: looking at the free space, and saying that there is none. Invariant: what `within` returns ran while each look found room.
 */
import type { Logger } from 'pino';
import type { Timers } from '../../ports/clock.ts';

export interface Space {
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

export interface DiskRoomOptions {
  readonly look: () => Promise<Space>;
  readonly timers: Pick<Timers, 'every' | 'nowMs'>;
  readonly logger: Pick<Logger, 'error' | 'info'>;
}

const megabyte = 1024 * 1024;
/** While requests run. A disk that writes 5 GB/s does not fill the floor between two looks. */
const lookMs = 50;
const idleLookMs = 1_000;
/** PostgreSQL is started with a part of the floor: its recovery may remove WAL. */
const startShare = 0.25;
/** There is room again above the floor by so much. */
const againShare = 1.25;

/** 5 % of the file system, 64 MB at least and 256 MB at most. */
export function floorOf({ sizeBytes }: Space): number {
  return Math.min(256 * megabyte, Math.max(64 * megabyte, sizeBytes / 20));
}

/** The request is executed again, with a database that is started anew. */
export class NoRoomError extends Error {
  override readonly name = 'NoRoomError';
}

export class DiskRoom {
  /** For people; null: there is room. */
  trouble: string | null = null;
  private readonly options: DiskRoomOptions;
  private space: Space | null = null;
  private lookedAtMs = Number.NEGATIVE_INFINITY;
  private looking: Promise<void> | null = null;
  private isUsed = false;
  private readonly giveUps = new Set<(error: Error) => void>();
  private readonly waiting = new Set<() => void>();
  private readonly stopLooking: () => void;

  constructor(options: DiskRoomOptions) {
    this.options = options;
    this.stopLooking = options.timers.every(lookMs, () => this.tick());
  }

  /** Ahead of a request. Null: now. Else it resolves when there is room. @throws the signal's reason */
  awaited(signal: AbortSignal): Promise<void> | null {
    this.isUsed = true;
    const isFresh = this.options.timers.nowMs() - this.lookedAtMs <= 2 * lookMs;
    return isFresh && this.trouble === null ? null : this.wait(() => this.trouble === null, signal);
  }

  /** Ahead of a start of PostgreSQL. */
  awaitedToStart(signal: AbortSignal): Promise<void> {
    const maySuffice = (): boolean =>
      this.space === null || this.space.freeBytes >= startShare * floorOf(this.space);
    return this.wait(maySuffice, signal);
  }

  /** @throws NoRoomError: there was none while it ran; `work` may be under way yet */
  async within<T>(work: Promise<T>): Promise<T> {
    let giveUp: (error: Error) => void = () => undefined;
    const short = new Promise<never>((_, reject) => {
      giveUp = reject;
    });
    short.catch(() => undefined);
    work.catch(() => undefined);
    this.giveUps.add(giveUp);
    try {
      return await Promise.race([work, short]);
    } finally {
      this.giveUps.delete(giveUp);
      this.isUsed = true;
    }
  }

  stop(): void {
    this.stopLooking();
  }

  private async wait(isEnough: () => boolean, signal: AbortSignal): Promise<void> {
    await this.look();
    while (!isEnough()) {
      signal.throwIfAborted();
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.waiting.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.waiting.add(wake);
        signal.addEventListener('abort', wake);
      });
    }
  }

  private tick(): void {
    const isBusy = this.isUsed || this.giveUps.size > 0 || this.trouble !== null;
    this.isUsed = false;
    if (isBusy || this.options.timers.nowMs() - this.lookedAtMs >= idleLookMs) void this.look();
  }

  /** Never rejects. */
  private look(): Promise<void> {
    this.looking ??= this.lookOnce().finally(() => {
      this.looking = null;
    });
    return this.looking;
  }

  private async lookOnce(): Promise<void> {
    const { look, timers } = this.options;
    const sinceMs = timers.nowMs();
    try {
      this.found(await look());
    } catch {
      // PostgreSQL says what is wrong with the disk.
    }
    this.lookedAtMs = sinceMs;
    for (const wake of this.waiting) wake();
  }

  private found(space: Space): void {
    const { logger } = this.options;
    // Some file systems do not say.
    if (space.sizeBytes === 0) return;
    this.space = space;
    const floor = floorOf(space);
    const isShort = space.freeBytes < (this.trouble === null ? floor : againShare * floor);
    if (isShort && this.trouble === null) {
      const [free, least] = [space.freeBytes, floor].map((bytes) => Math.floor(bytes / megabyte));
      this.trouble = `the file system of its database has ${free} MB free, and ${least} MB are needed: nothing is executed here until there is more`;
      logger.error({ ...space, floor }, `${this.trouble}. Make space`);
      for (const giveUp of this.giveUps) giveUp(noRoom());
    } else if (!isShort && this.trouble !== null) {
      this.trouble = null;
      logger.info(space, 'the file system of the database has room again');
    }
  }
}

function noRoom(): NoRoomError {
  return new NoRoomError(
    'the file system of the database had too little room while a request ran: it is executed again',
  );
}
