/**
 * The walsender of a modelled primary: sends what is synced, in pieces that end with a record or a page, and hears what its receiver reports.
 *
 * Invariants: pieces are consecutive; nothing is sent that is not synced; what is under way is bounded.
 */
import type { Timers } from '../../../ports/clock.ts';
import type { WalStream, WalStreamHandlers } from '../../../ports/database-server.ts';
import type { Random } from '../../../ports/testing/random.ts';
import { walPageBytes, type Lsn } from '../../../wal/lsn.ts';
import type { ModelPrimary } from './model-primary.ts';
import { Wire } from './wire.ts';

const pieceBytesMax = 128 * 1024;
const underWayBytesMax = 512 * 1024;

export interface StreamOptions {
  readonly primary: ModelPrimary;
  readonly from: Lsn;
  readonly handlers: WalStreamHandlers;
  /** Time of the replica's process, and of PostgreSQL. */
  readonly there: Timers;
  readonly here: Timers;
  readonly random: Random;
  readonly latencyMs: () => number;
}

export class ModelStream implements WalStream {
  private readonly options: StreamOptions;
  private readonly toReceiver: Wire;
  private readonly toSender: Wire;
  /** Sent up to here, and taken in by the receiver. */
  private sent: Lsn;
  private underWayBytes = 0;
  /** What has arrived while the receiver reads nothing. */
  private unread: (() => void)[] = [];
  private paused = false;
  private closed = false;

  constructor(options: StreamOptions) {
    this.options = options;
    this.sent = options.from;
    this.toReceiver = new Wire(options.there, options.latencyMs);
    this.toSender = new Wire(options.here, options.latencyMs);
  }

  /** There is more that is synced. */
  pump(): void {
    const { primary } = this.options;
    while (!this.closed && this.sent < primary.writer.syncedTo && this.underWayBytes < underWayBytesMax) {
      const start = this.sent;
      const pieces = this.nextPieces();
      const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
      this.underWayBytes += bytes;
      this.deliver(() => {
        this.toSender.say(() => {
          this.underWayBytes -= bytes;
          this.pump();
        });
        this.options.handlers.onHeard();
        this.options.handlers.onWal(start, pieces);
      });
    }
  }

  /** One read of the receiver's brings some messages at once. */
  private nextPieces(): Buffer[] {
    const { primary, random } = this.options;
    const pieces: Buffer[] = [];
    do {
      const piece = primary.readWal(this.sent, this.endOfPiece(primary.writer.syncedTo) - this.sent);
      pieces.push(piece);
      // A file is read to its end at most, which is one of a page, too.
      this.sent = (this.sent + piece.length) as Lsn;
    } while (this.sent < primary.writer.syncedTo && random.chance(0.5));
    return pieces;
  }

  /** With what is synced, or with a page. */
  private endOfPiece(syncedTo: Lsn): Lsn {
    const { random } = this.options;
    const most = this.sent + (random.chance(0.1) ? random.between(1, pieceBytesMax) : pieceBytesMax);
    if (syncedTo <= most) return syncedTo;
    const nextPage = this.sent - (this.sent % walPageBytes) + walPageBytes;
    return Math.min(syncedTo, Math.max(nextPage, most - (most % walPageBytes))) as Lsn;
  }

  private deliver(work: () => void): void {
    this.toReceiver.say(() => {
      this.unread.push(work);
      this.read();
    });
  }

  private read(): void {
    while (!this.closed && !this.paused) {
      const work = this.unread.shift();
      if (work === undefined) return;
      work();
    }
  }

  report(position: Lsn): void {
    this.toSender.say(() => {
      if (!this.closed) this.options.primary.reported(position, this);
    });
  }

  ping(): void {
    this.toSender.say(() => this.deliver(() => this.options.handlers.onHeard()));
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.options.there.soon(() => this.read());
  }

  close(): void {
    this.closed = true;
    this.toSender.say(() => this.options.primary.streamClosed(this));
  }

  /** The walsender has ended. */
  end(reason: string): void {
    this.toReceiver.say(() => {
      if (this.closed) return;
      this.closed = true;
      this.options.handlers.onEnd(reason);
    });
  }
}
