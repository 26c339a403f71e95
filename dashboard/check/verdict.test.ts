/** The verdict that the page gives, by the judge that it has, on runs of its own simulator and on the trace that it shows as refused. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { recordGroup } from '../../harness/conformance/fresh/record-group.ts';
import { processAlterations } from '../../harness/conformance/processes/judge-processes.ts';
import { paxosAsProcesses, primaryAsProcesses } from '../../harness/conformance/processes/testing.ts';
import { beginRun } from '../sim/testing.ts';
import type { Act } from '../src/run/simulated/acts.ts';
import { readTraceText } from '../src/spec/trace-text.ts';
import { answer } from './answer.ts';
import { verdictOn } from './verdict.ts';

const refusedFile = fileURLToPath(new URL('../../specs/refused/forgets-promise.ndjson', import.meta.url));

function eventsOf(text: string): readonly TraceEvent[] {
  const read = readTraceText(text);
  if (!read.ok) throw new Error(read.message);
  return read.events;
}

const nobody = (): void => undefined;

describe('the verdict on a run', () => {
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

  it('is none where others heard of a replica whose earlier life is not held, and says of which', async () => {
    const acts: readonly Act[] = [
      [6_000, { action: 'crash', replica: 'r3' as ReplicaId }],
      [7_000, { action: 'restart', replica: 'r3' as ReplicaId }],
    ];
    const run = beginRun({ seed: 3, replicas: 3, clients: 2, acts }, 12_000);
    await run.stands();
    const whole = JSON.parse(JSON.stringify(run.events())) as readonly TraceEvent[];
    const lives = new Set(whole.filter(({ replica }) => replica === 'r3').map((event) => event.run));
    expect(lives.size).toBe(2);
    const [first] = lives;
    const { layers } = await verdictOn(
      whole.filter((event) => event.run !== first),
      nobody,
    );
    expect(layers[0]).toMatchObject({ module: 'MultiPaxos', accepted: 0, refusal: null });
    expect(layers[0]!.notJudged).toContain('Others heard from r3 before its first event');
  });

  it('of a run that begins in the middle of a life says of the layers that need the founding that they are not judged', async () => {
    const whole = await recordGroup(10, 'losses');
    const { run, replica } = whole.findLast(
      (event) => event.layer === 'consensus' && event.name === 'Restart' && event.state.promised.round > 0,
    )!;
    const life = whole.filter((event) => event.run === run);
    // Nobody else is in it, so nobody else may have been heard.
    const events = life.slice(
      0,
      life.findIndex((event) => 'from' in event),
    );
    const { layers } = await verdictOn(events, nobody);
    expect(layers.map(({ module, refusal }) => [module, refusal])).toEqual([
      ['MultiPaxos', null],
      ['OrderedApply', null],
      ['Lease', null],
    ]);
    expect(layers[0]!.notJudged).toBeNull();
    for (const { notJudged } of layers.slice(1))
      expect(notJudged).toContain(`The log of ${replica} was not empty`);
  });

  it.each([
    ['Paxos', paxosAsProcesses, 2],
    ['PrimaryCopies', primaryAsProcesses, 1],
  ] as const)(
    'of processes of %s counts their steps, and names the step that is refused',
    async (module, record, seed) => {
      const events = record(seed);
      const { layers } = await verdictOn(events, nobody);
      expect(layers).toMatchObject([{ module, refusal: null, notJudged: null }]);
      expect(layers[0]!.accepted).toBeGreaterThan(10);

      const altered = processAlterations[module]['a flush that nobody told']!(events);
      const [layer, ...more] = (await verdictOn(altered, nobody)).layers;
      expect(more).toEqual([]);
      const { refusal } = layer!;
      expect(layer).toMatchObject({ module, notJudged: null, accepted: refusal!.number - 1 });
      expect(refusal).toMatchObject({
        action: expect.stringMatching(/^[A-Z]/),
        replica: refusal!.event!.replica,
      });
      expect(refusal!.reason).toContain('does not allow this step');
      expect(altered).toContain(refusal!.event);
    },
  );

  it('of processes whose beginning is gone is none, by the name of their specification', async () => {
    const { layers } = await verdictOn(paxosAsProcesses(2).slice(9), nobody);
    expect(layers).toMatchObject([{ module: 'Paxos', notJudged: expect.stringContaining('beginning') }]);
  });
});

describe('what a page is told', () => {
  it('is that a check has failed, and why, where there is no verdict', async () => {
    const said: object[] = [];
    await answer([null as unknown as TraceEvent], (message) => void said.push(message));
    expect(said).toEqual([{ kind: 'failed', message: expect.stringContaining('null') }]);
  });
});
