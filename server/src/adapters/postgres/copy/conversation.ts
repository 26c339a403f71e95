/**
 * Messages of a copy over a channel of bytes.
 *
 * Responsible for: frames on the way in and out, waiting for whoever is slower, signs of life while there is nothing to say, and turning the end of the channel into a CopyError. Knows nothing of what is said.
 * Invariants: what is sent before `send` has resolved is all that waits in memory here, besides what the channel itself holds; a message that was cut off is an error, and never one.
 */
import type { Duplex } from 'node:stream';
import { CopyError } from '../../../ports/copy.ts';
import {
  type CopyMessage,
  decodeMessage,
  encodeMessage,
  frameHeadBytes,
  type MessageOf,
  readFrameHead,
} from './messages.ts';

/** So often one side says that it lives; the channel gives up a side that says nothing for much longer. */
const aliveMs = 2_000;

export class Conversation {
  private readonly channel: Duplex;
  private readonly onAlive: (compared: number) => void;
  private readonly timer: NodeJS.Timeout;
  private readonly waiting: (() => void)[] = [];
  private failure: Error | null = null;
  private silent = true;
  /** Of this side, told with its signs of life. */
  compared = 0;
  bytesReceived = 0;

  /** `onAlive` is told what the other side has compared. */
  constructor(channel: Duplex, onAlive: (compared: number) => void = () => undefined) {
    this.channel = channel;
    this.onAlive = onAlive;
    channel.on('error', (error) => {
      this.failure ??= error;
    });
    for (const event of ['readable', 'drain', 'end', 'close', 'error']) channel.on(event, () => this.wake());
    this.timer = setInterval(() => this.tick(), aliveMs);
  }

  private tick(): void {
    const isFree = !this.channel.destroyed && !this.channel.writableNeedDrain && !this.channel.writableEnded;
    if (this.silent && isFree) this.write({ kind: 'alive', compared: this.compared });
    this.silent = true;
  }

  /** Resolves when the next message may be sent. @throws CopyError if the channel is gone */
  async send(message: CopyMessage): Promise<void> {
    this.assertOpen();
    this.silent = false;
    this.write(message);
    while (this.channel.writableNeedDrain) {
      await this.change();
      this.assertOpen();
    }
  }

  private write(message: CopyMessage): void {
    this.channel.cork();
    for (const part of encodeMessage(message)) this.channel.write(part);
    this.channel.uncork();
  }

  /** Null: the other side has ended, between two messages. @throws CopyError; what the other side says is wrong, too */
  async receive(): Promise<Exclude<CopyMessage, MessageOf<'alive' | 'failed'>> | null> {
    for (;;) {
      const head = await this.exactly(frameHeadBytes);
      if (head === null) return null;
      const { length } = readFrameHead(head);
      const body = await this.exactly(length);
      if (body === null) throw this.cutOff();
      const message = decodeMessage(head, body);
      if (message.kind === 'failed') throw new CopyError(message.code, message.message);
      if (message.kind !== 'alive') return message;
      this.onAlive(message.compared);
    }
  }

  /** @throws CopyError if something else comes, or nothing */
  async expect<Kind extends Exclude<CopyMessage['kind'], 'alive' | 'failed'>>(
    kind: Kind,
  ): Promise<MessageOf<Kind>> {
    const message = await this.receive();
    if (message === null) throw this.cutOff();
    if (message.kind !== kind) throw outOfPlace(message.kind);
    return message as MessageOf<Kind>;
  }

  private async exactly(bytes: number): Promise<Buffer | null> {
    if (bytes === 0) return Buffer.alloc(0);
    for (;;) {
      const part = this.channel.read(bytes) as Buffer | null;
      if (part !== null) {
        this.bytesReceived += part.length;
        if (part.length === bytes) return part;
        // The last bytes before the end come as they are.
        throw this.cutOff();
      }
      if (this.channel.readableEnded) return null;
      this.assertOpen();
      await this.change();
    }
  }

  /** Until something has happened to the channel. */
  private change(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  private assertOpen(): void {
    if (this.failure instanceof CopyError) throw this.failure;
    if (this.failure !== null || this.channel.destroyed) throw this.cutOff();
  }

  private cutOff(): CopyError {
    if (this.failure instanceof CopyError) return this.failure;
    const reason = this.failure?.message ?? 'the channel was closed';
    return new CopyError('transferFailed', `the copy was cut off: ${reason}`, { cause: this.failure });
  }

  /** Says why there is no copy, if the other side can still be told, and ends this side. */
  fail(error: CopyError): void {
    const { code, message } = error;
    if (!this.channel.destroyed && !this.channel.writableEnded) {
      this.write({ kind: 'failed', code, message: message.slice(0, 1_000) });
    }
    this.end();
  }

  /** Nothing more is said by this side. */
  end(): void {
    clearInterval(this.timer);
    if (!this.channel.destroyed) this.channel.end();
  }

  /** Resolves when the other side has ended, too. */
  async ended(): Promise<void> {
    while (!this.channel.destroyed && !this.channel.readableEnded) {
      // Whatever it still says is of no interest, but it must be read for the end to be seen.
      while (this.channel.read() !== null);
      if (this.channel.readableEnded || this.channel.destroyed) return;
      await this.change();
    }
  }

  close(): void {
    clearInterval(this.timer);
    this.channel.destroy();
  }
}

export function outOfPlace(kind: string): CopyError {
  return new CopyError('copyInvalid', `the other side of the copy said "${kind}" out of place`);
}
