/**
 * A channel of bytes between two replicas, in both directions, over a connection on which both have proved themselves.
 *
 * Responsible for: back-pressure (what is not read is not read from the network, and no more than one piece waits to be sent), ends of both directions, faults of the link on this side's way out, and giving up when nothing moves.
 * Does not know what the bytes are.
 * Invariant: a direction ends well only if the other side said that it ends and all bytes have come; anything else destroys the channel with a CopyError.
 */
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { CopyError } from '../../ports/copy.ts';
import { type CopyText, readCopyText } from './copy-texts.ts';
import type { FaultLayer } from './fault-layer.ts';
import type { TransportLimits } from './limits.ts';

/** So much is on its way before the next piece waits for an answer: what a delay of the link slows down. */
const windowBytes = 1024 * 1024;
const pieceBytesMax = 256 * 1024;
/** So much may wait to be read before the network is held back. */
const bufferBytes = 1024 * 1024;

export interface CopyChannelOptions {
  readonly peer: ReplicaId;
  readonly limits: TransportLimits;
  readonly faults: Pick<FaultLayer, 'holdUp'>;
}

export class CopyChannel extends Duplex {
  readonly peer: ReplicaId;
  private readonly socket: WebSocket;
  private readonly options: CopyChannelOptions;
  private readonly stall: NodeJS.Timeout;
  private movedAtMs = performance.now();
  private sent = 0;
  private received = 0;
  private hasEnded = false;

  /** Whoever owns the socket tells this channel of the texts, the bytes and the end that come over it. */
  constructor(socket: WebSocket, options: CopyChannelOptions) {
    super({ readableHighWaterMark: bufferBytes, writableHighWaterMark: pieceBytesMax });
    this.peer = options.peer;
    this.socket = socket;
    this.options = options;
    this.stall = setInterval(() => this.checkStall(), options.limits.probeMs);
    // It may fail before whoever asked for it has begun to read; they are told then.
    this.on('error', () => {});
  }

  onText(text: string): void {
    this.moved();
    const said = readCopyText(text);
    if (said === null || !('end' in said)) return this.fail('sent what is no part of a copy');
    if (said.end.bytes !== this.received) {
      return this.fail(`sent ${said.end.bytes} bytes, and ${this.received} arrived`);
    }
    this.hasEnded = true;
    this.push(null);
  }

  onBinary(data: Buffer): void {
    this.moved();
    if (this.hasEnded || this.destroyed) return;
    this.received += data.byteLength;
    if (!this.push(data)) this.socket.pause();
  }

  /** The connection is gone. */
  onEnd(reason: string): void {
    if (this.hasEnded && this.writableFinished) this.destroy();
    else this.fail(reason);
  }

  /** Nobody uses it any more: what was written to its end still leaves, for as long as anything moves. */
  release(): void {
    if (!this.writableEnded || this.writableFinished) return void this.destroy();
    this.once('finish', () => this.destroy());
    // Unread, it would keep the other side's probes from being answered.
    this.resume();
  }

  fail(message: string, cause?: unknown): void {
    this.destroy(new CopyError('transferFailed', `${this.peer}: ${message}`, { cause }));
  }

  private moved(): void {
    this.movedAtMs = performance.now();
  }

  /** That the other side lives is seen by probes; this is about one that lives and does not move. */
  private checkStall(): void {
    const { copyStallMsMax } = this.options.limits;
    // Whoever reads here is slow: then the other side is kept waiting, and looks after itself.
    if (this.socket.isPaused) this.moved();
    else if (performance.now() - this.movedAtMs > copyStallMsMax) {
      this.fail(`nothing for ${Math.round(copyStallMsMax / 1000)} s`);
    }
  }

  override _read(): void {
    this.moved();
    if (this.socket.isPaused) this.socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    void tell(this.pour(chunk), done);
  }

  /** What was written in one go, such as many small messages, goes in one go. */
  override _writev(
    chunks: readonly { readonly chunk: Buffer; readonly encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    void tell(this.pour(Buffer.concat(chunks.map(({ chunk }) => chunk))), done);
  }

  private async pour(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.byteLength; at += pieceBytesMax) {
      const piece = chunk.subarray(at, at + pieceBytesMax);
      const window = Math.floor(this.sent / windowBytes);
      this.sent += piece.byteLength;
      const heldUpMs = this.options.faults.holdUp(this.peer, Math.floor(this.sent / windowBytes) > window);
      if (heldUpMs === null) throw new CopyError('transferFailed', `${this.peer}: the link is cut`);
      if (heldUpMs > 0) await sleep(heldUpMs);
      await this.taken(piece);
    }
  }

  /** Resolves when the piece has left this process: no sooner, so that no more than one waits in memory. */
  private taken(piece: Buffer | string): Promise<void> {
    const { copyStallMsMax } = this.options.limits;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new CopyError('transferFailed', `${this.peer}: takes no more`));
      }, copyStallMsMax);
      this.socket.send(piece, { binary: typeof piece !== 'string' }, (error) => {
        clearTimeout(timer);
        this.moved();
        if (error === undefined || error === null) return resolve();
        reject(new CopyError('transferFailed', `${this.peer}: ${error.message}`, { cause: error }));
      });
    });
  }

  override _final(done: (error?: Error | null) => void): void {
    const end: CopyText = { end: { bytes: this.sent } };
    void tell(this.taken(JSON.stringify(end)), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearInterval(this.stall);
    // Paused, it would not read the other side's farewell.
    this.socket.resume();
    // Whatever the other side still says is of no interest; what was written must arrive.
    if (error === null && this.writableFinished) {
      this.socket.close();
      setTimeout(() => this.socket.terminate(), this.options.limits.silenceMsMax).unref();
    } else {
      this.socket.terminate();
    }
    done(error);
  }
}

async function tell(work: Promise<void>, done: (error?: Error | null) => void): Promise<void> {
  let failure: Error | null = null;
  try {
    await work;
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  }
  done(failure);
}
