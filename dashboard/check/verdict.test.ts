/** The verdict that the page gives, by the judge that it has, on runs of its own simulator and on the trace that it shows as refused. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../server/src/api/events.ts';
import { beginRun } from '../sim/testing.ts';
import { readTraceText } from '../src/spec/trace-text.ts';
import { verdictOn } from './verdict.ts';

const refusedFile = fileURLToPath(new URL('../../specs/refused/forgets-promise.ndjson', import.meta.url));

function eventsOf(text: string): readonly TraceEvent[] {
  const read = readTraceText(text);
  if (!read.ok) throw new Error(read.message);
  return read.events;
}

const nobody = (): void => undefined;

describe('the verdict on a run', { timeout: 120_000 }, () => {
  it('of a simulated group is that every layer accepts it', async () => {
    const run = beginRun({ seed: 3, replicas: 3, clients: 2, acts: [] }, 12_000);
    await run.stands();
    const events = JSON.parse(JSON.stringify(run.events())) as readonly TraceEvent[];
    const { layers, leftOut } = await verdictOn(events, nobody);
    expect(leftOut).toBeNull();
    expect(layers.map(({ module, refusal, notJudged }) => [module, refusal, notJudged])).toEqual([
      ['MultiPaxos', null, null],
      ['OrderedApply', null, null],
      ['Lease', null, null],
    ]);
    expect(layers.every(({ accepted }) => accepted > 10)).toBe(true);
  });

  it('of a group with a planted bug is which event is refused, and why', async () => {
    const events = eventsOf(readFileSync(refusedFile, 'utf8'));
    const { layers } = await verdictOn(events, nobody);
    const [layer, ...more] = layers;
    expect(more).toEqual([]);
    expect(layer).toMatchObject({ module: 'MultiPaxos', notJudged: null });
    const { refusal } = layer!;
    expect(refusal).toMatchObject({ action: 'Crash', replica: 'r3' });
    expect(refusal?.reason).toContain('not those of the spec');
    expect(events.some(({ run, seq }) => run === refusal?.event?.run && seq === refusal.event.seq)).toBe(
      true,
    );
  });

  it('is none where the beginning of the run is gone, and says so', async () => {
    const events = eventsOf(readFileSync(refusedFile, 'utf8')).slice(200);
    const { layers } = await verdictOn(events, nobody);
    expect(layers).toHaveLength(1);
    expect(layers[0]).toMatchObject({ refusal: null, accepted: 0 });
    expect(layers[0]?.notJudged).toContain('does not hold the beginning');
  });
});
