import { describe, expect, it } from 'vitest';
import { threadTimes, type TraceEvent } from './trace-summary.ts';

const of = (tid: number) => ({ pid: 1, tid });
const work = (tid: number, name: string, ts: number, dur: number): TraceEvent => ({
  ...of(tid),
  ph: 'X',
  name,
  ts,
  dur,
});

describe('the summary of a trace', () => {
  const events: readonly TraceEvent[] = [
    { ...of(1), ph: 'M', name: 'thread_name', ts: 0, args: { name: 'main' } },
    work(1, 'inner', 20, 30),
    work(1, 'task', 10, 60),
    work(1, 'innermost', 25, 5),
    work(1, 'task', 80, 20),
    work(2, 'raster', 0, 50),
    work(3, 'blink', 99, 1),
    { ...of(2), ph: 'I', name: 'mark', ts: 70 },
  ];

  it('tells of each thread how busy it was, and with what, without what was done within', () => {
    expect(threadTimes(events)).toEqual([
      {
        thread: 'main',
        busy: 0.8,
        most: [
          { work: 'task', share: 0.5 },
          { work: 'inner', share: 0.25 },
          { work: 'innermost', share: 0.05 },
        ],
      },
      { thread: '1 2', busy: 0.5, most: [{ work: 'raster', share: 0.5 }] },
    ]);
  });

  it('tells nothing of a trace without work', () => {
    expect(threadTimes([])).toEqual([]);
  });
});
