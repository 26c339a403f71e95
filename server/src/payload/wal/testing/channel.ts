/** Two ends of a channel in memory, for objects: what is written at one is read at the other a while later, in its order. An end whose process is dead hears nothing; one that is destroyed takes the other along. */
import { Duplex } from 'node:stream';
import type { Timers } from '../../../ports/clock.ts';
import { Wire } from './wire.ts';

export class ChannelEnd extends Duplex {
  private readonly toOther: Wire;
  other: ChannelEnd | null = null;
  private onRoom: (() => void) | null = null;
  /** Who waits for what is being written. */
  private writing: ((error?: Error) => void) | null = null;

  constructor(toOther: Wire) {
    super({ objectMode: true, readableHighWaterMark: 8, writableHighWaterMark: 8 });
    this.toOther = toOther;
    this.on('error', () => undefined);
  }

  override _read(): void {
    const { onRoom } = this;
    this.onRoom = null;
    onRoom?.();
  }

  /** `taken`: there is room for more. */
  arrive(chunk: unknown, taken: () => void): void {
    if (this.push(chunk)) taken();
    else this.onRoom = taken;
  }

  override _write(chunk: unknown, _encoding: string, done: (error?: Error) => void): void {
    this.writing = done;
    this.toOther.say(() => this.other?.arrive(chunk, () => this.other?.toOther.say(() => this.written())));
  }

  private written(error?: Error): void {
    const { writing } = this;
    this.writing = null;
    writing?.(error);
  }

  override _final(done: () => void): void {
    this.toOther.say(() => this.other?.push(null));
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { other } = this;
    this.toOther.say(() => other?.destroy(new Error('the other side has gone')));
    this.written(error ?? new Error('the channel was ended'));
    done(error);
  }
}

/** The end of the process whose time is `here`, and that of the other. `backMs`: from there to here, if that way takes another time. */
export function openChannel(
  here: Timers,
  there: Timers,
  latencyMs: () => number,
  backMs = latencyMs,
): readonly [ChannelEnd, ChannelEnd] {
  const near = new ChannelEnd(new Wire(there, latencyMs));
  const far = new ChannelEnd(new Wire(here, backMs));
  near.other = far;
  far.other = near;
  return [near, far];
}
