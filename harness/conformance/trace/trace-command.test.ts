import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { recordGroup } from '../fresh/record-group.ts';
import { runTraceCommand } from './trace-command.ts';

afterEach(() => vi.restoreAllMocks());

it('a trace of which the first runs of one replica are gone is not judged', async () => {
  const events = await recordGroup(10, 'losses');
  const [first] = events.flatMap((event) => (event.layer === 'consensus' ? [event] : []));
  const dir = mkdtempSync(join(tmpdir(), 'barista-trace-command-'));
  try {
    const kept = events.filter(({ run }) => run !== first!.run);
    writeFileSync(join(dir, 'all.ndjson'), kept.map((event) => `${JSON.stringify(event)}\n`).join(''));
    const said: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((text: string) => void said.push(text));
    expect(await runTraceCommand([dir], { judge: 'typescript', workers: 1, requireAll: false })).toBe(2);
    expect(said).toEqual([
      `not judged: the trace is incomplete, since others heard from ${first!.replica} before the first event that is there of it. trace.filesMax may have let that go`,
    ]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
