/**
 * Lets simulated time pass as fast as somebody wants to watch it, and stand still where they want to look.
 *
 * Responsible for: when time goes on, and the acts that are due before it does. Time that has fallen behind, because the machine was busy, is not made up for.
 */
import type { SimulatedTime } from '../../server/src/ports/testing/simulated-time.ts';

/** What is done at a moment of simulated time, which stands still until that is done. */
export interface Act {
  readonly atMs: number;
  readonly act: () => Promise<unknown> | void;
}

const behindMsMax = 200;

export class Pace {
  private readonly time: SimulatedTime;
  private acts: readonly Act[] = [];
  private toMs = 0;
  private speed = 1;
  /** Where both clocks were when the speed was set, or was not kept. */
  private since = { simulatedMs: 0, wallMs: 0 };
  private onArrival: () => void = () => undefined;
  private goOn: () => void = () => undefined;

  /** Time stands still until it is told to go on. */
  constructor(time: SimulatedTime) {
    this.time = time;
    this.toMs = time.nowMs();
    time.pace = (atMs) => this.before(atMs);
  }

  /** In the order of their times, which lie ahead. */
  plan(acts: readonly Act[]): void {
    this.acts = acts;
  }

  /** Resolves when time has come to `toMs`, where it stands still. `speed`: simulated milliseconds to one; Infinity: as fast as it goes. */
  async playTo(toMs: number, speed: number): Promise<void> {
    this.toMs = toMs;
    this.speed = speed;
    this.synchronize();
    const arrived = new Promise<void>((resolve) => {
      this.onArrival = resolve;
    });
    this.goOn();
    await arrived;
  }

  /** From now on as fast as it goes, whoever looks on. */
  release(): void {
    this.time.pace = null;
    this.goOn();
  }

  private synchronize(): void {
    this.since = { simulatedMs: this.time.nowMs(), wallMs: performance.now() };
  }

  private async before(atMs: number): Promise<void> {
    const [next, ...later] = this.acts;
    if (next !== undefined && next.atMs <= Math.min(atMs, this.toMs)) {
      this.acts = later;
      await next.act();
      return;
    }
    if (atMs > this.toMs) await this.stand();
    else await this.keepPace(atMs);
  }

  private async stand(): Promise<void> {
    this.onArrival();
    await new Promise<void>((resolve) => {
      this.goOn = resolve;
    });
  }

  private async keepPace(atMs: number): Promise<void> {
    const { simulatedMs, wallMs } = this.since;
    const waitMs = wallMs + (atMs - simulatedMs) / this.speed - performance.now();
    if (waitMs >= 1) await new Promise((resolve) => setTimeout(resolve, waitMs));
    else if (waitMs < -behindMsMax) this.synchronize();
  }
}
