/** Development only: what a page costs its browser: frames, the time between them, how busy its thread is, what its heap holds when the garbage is gone. */
import type { CDPSession, Page } from 'playwright-core';

export interface FrameFigures {
  readonly perSecond: number;
  /** Between two frames. */
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  /** 0 to 1: of the page's own thread. */
  readonly busy: number;
  readonly scripting: number;
}

export interface PageMeter {
  frames(seconds: number): Promise<FrameFigures>;
  /** Bytes that are reachable. */
  heapBytes(): Promise<number>;
  /** Elements of the document. */
  nodes(): Promise<number>;
}

export async function meterOf(page: Page): Promise<PageMeter> {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const read = async (): Promise<ReadonlyMap<string, number>> => {
    const { metrics } = await session.send('Performance.getMetrics');
    return new Map(metrics.map(({ name, value }) => [name, value]));
  };
  return {
    async frames(seconds) {
      const before = await read();
      const times = await page.evaluate(framesFor, seconds * 1_000);
      const after = await read();
      const gaps = times
        .slice(1)
        .map((ms, index) => ms - times[index]!)
        .sort((a, b) => a - b);
      const shareOf = (name: string): number =>
        (after.get(name)! - before.get(name)!) / (after.get('Timestamp')! - before.get('Timestamp')!);
      return {
        perSecond: (gaps.length * 1_000) / (times.at(-1)! - times[0]!),
        medianMs: gaps[Math.floor(gaps.length / 2)]!,
        p99Ms: gaps[Math.floor(gaps.length * 0.99)]!,
        longestMs: gaps.at(-1)!,
        busy: shareOf('TaskDuration'),
        scripting: shareOf('ScriptDuration'),
      };
    },
    async heapBytes() {
      await session.send('HeapProfiler.collectGarbage');
      return (await read()).get('JSHeapUsedSize')!;
    },
    async nodes() {
      return (await read()).get('Nodes')!;
    },
  };
}

/** In the page: when each frame began. No function of it has a name of its own: what compiles this would call a helper that the page has not. */
async function framesFor(forMs: number): Promise<readonly number[]> {
  const times: number[] = [];
  do
    times.push(
      await new Promise<number>((resolve) => {
        requestAnimationFrame(resolve);
      }),
    );
  while (times.at(-1)! - times[0]! < forMs);
  return times;
}
