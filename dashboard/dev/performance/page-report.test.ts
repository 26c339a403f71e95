import { describe, expect, it } from 'vitest';
import { heapChart, type HeapLook, type PageFigures, pageReport, type Round } from './page-report.ts';

const round = (perSecond: number): Round => ({
  perSecond,
  medianMs: 16.7,
  p99Ms: 33.3,
  longestMs: 50,
  busy: 0.5,
  scripting: 0.25,
  transactions: 2000,
  speed: 0.5,
});
const heap: readonly HeapLook[] = Array.from({ length: 9 }, (_, minute) => ({
  minute,
  bytes: (50 + minute) * 1e6,
  nodes: 300,
  transactions: 1000 + minute * 100,
}));
const figures: PageFigures = {
  machine: { cores: 2, cpu: 'some', memoryGiB: 8, kernel: 'Linux', node: '20', loadBefore: 0.1 },
  commit: 'abc',
  command: 'measure it',
  browser: 'Chromium 1',
  replicas: 5,
  clients: 10,
  seconds: 20,
  views: [{ view: 'lab', rounds: [round(59), round(60), round(57)] }],
  trace: {
    file: 'trace.json.gz',
    threads: [{ thread: 'main', busy: 0.5, most: [{ work: 'Commit', share: 0.2 }] }],
  },
  heap,
};

describe('the report of the page', () => {
  const text = pageReport(figures, 'The page');

  it('tells medians with their spread, what is the same in all rounds once', () => {
    expect(text).toContain('| lab | 2000 | 59.0 (57.0 to 60.0) | 16.7 | 33.3 | 50.0 | 50 | 25 |');
    expect(text).toContain('3 rounds of 20 s');
  });

  it('tells the command, the machine and the commit', () => {
    expect(text).toContain('measure it\n\nmachine     2 cores (some)');
    expect(text).toContain('commit      abc');
  });

  it('tells where the time goes, and whether memory grows', () => {
    expect(text).toContain('| main | 50 % | Commit 20 % |');
    expect(text).toContain(
      'In 8 minutes with 800 transactions, medians of the four quarters: 50.5, 52.5, 54.5, 57.0 MB',
    );
    expect(text).toContain('![What the page holds](heap.svg)');
    expect(heapChart(heap)!.svg).toContain('<svg');
  });

  it('says nothing of what was not measured', () => {
    const bare = pageReport({ ...figures, heap: [], trace: null }, 'The page');
    expect(bare).not.toMatch(/Memory|Where the time goes/);
    expect(heapChart([])).toBeNull();
  });
});
