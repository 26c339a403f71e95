/** A run is its seed and its acts: the same again, however it is watched, asked and forked. */
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { Act } from '../src/run/simulated/acts.ts';
import { underWayMax } from '../src/run/simulated/protocol.ts';
import { firstRun, type RunSetup } from '../src/run/simulated/run-address.ts';
import { beginRun, type TestedRun } from './testing.ts';

const [r1, r2] = ['r1', 'r2'] as [ReplicaId, ReplicaId];
const setup: RunSetup = { ...firstRun, seed: 7, clients: 2 };

async function runTo(acts: readonly Act[], atMs: number): Promise<TestedRun> {
  const run = beginRun({ ...setup, acts }, atMs);
  await run.stands();
  return run;
}

/** Of the run, on its own clock. */
const upTo = (events: readonly TraceEvent[], ms: number): readonly TraceEvent[] =>
  events.filter(({ atUs }) => atUs <= ms * 1000);

const names = (events: readonly TraceEvent[]): ReadonlySet<string> => new Set(events.map(({ name }) => name));

function actsOf({ said }: TestedRun): readonly Act[] {
  const last = said.findLast((message) => message.kind === 'acts');
  return last?.kind === 'acts' ? last.acts : [];
}

describe('a simulated run', () => {
  it('is the same again by its seed and its acts, though the first was stepped, looked into and broken while it stood', async () => {
    const watched = await runTo([], 12_000);
    for (let n = 0; n < 5; n++) await watched.ask({ kind: 'step' });
    const slot = await watched.ask({ kind: 'slot', slot: 3 });
    expect(slot).toMatchObject({ slot: 3 });
    const wiped = watched.ask({ kind: 'act', deed: { action: 'wipe', replica: r2, what: 'both' } });
    const sql = watched.ask({
      kind: 'act',
      deed: { action: 'sql', replica: r1, sql: 'select * from orders' },
    });
    await watched.ask({ kind: 'step' });
    watched.simulator.hear({ kind: 'pace', pace: { mode: 'running', speed: Infinity, toMs: 20_000 } });
    await watched.stands();
    expect(await wiped).toMatchObject({ ok: true });
    expect(await sql).toMatchObject({ command: expect.stringMatching(/^SELECT \d+$/) as string });
    const events = watched.events();
    expect(names(events)).toContain('EndCopy');

    const again = await runTo(actsOf(watched), 20_000);
    expect(again.events()).toEqual(events);
    const other = await runTo([], 20_000);
    expect(other.events()).not.toEqual(events);
  });

  it('that is forked has the same events up to there, and not what was done later', async () => {
    const acts: readonly Act[] = [
      [12_000, { action: 'crash', replica: r1 }],
      [16_000, { action: 'restart', replica: r1 }],
    ];
    const run = await runTo(acts, 20_000);
    const whole = run.events();
    expect(await run.ask({ kind: 'fork', atMs: 14_000 })).toEqual({ ok: true });
    const forked = run.events();
    expect(forked.length).toBeGreaterThan(100);
    expect(forked).toEqual(upTo(whole, 14_000));
    run.simulator.hear({ kind: 'pace', pace: { mode: 'running', speed: Infinity, toMs: 20_000 } });
    await run.stands();
    const later = run.events().slice(forked.length);
    expect(names(later)).not.toContain('ReplicaStarted');
    expect(names(whole.slice(forked.length))).toContain('ReplicaStarted');
  });

  it('waits for a page that does not take what it is told', async () => {
    const run = await runTo([], 12_000);
    const { simulator, said } = run;
    const hear = simulator.hear.bind(simulator);
    simulator.hear = (message) => {
      if (message.kind !== 'taken') hear(message);
    };
    const before = said.length;
    hear({ kind: 'pace', pace: { mode: 'running', speed: Infinity, toMs: 60_000 } });
    const told = (): number => said.slice(before).filter(({ kind }) => kind === 'frames').length;
    await expect.poll(told).toBeGreaterThanOrEqual(underWayMax - 1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(told()).toBeLessThanOrEqual(underWayMax);
    for (let n = 0; n < 5; n++) hear({ kind: 'taken' });
    await expect.poll(told).toBeGreaterThan(underWayMax);
    hear({ kind: 'pace', pace: { mode: 'standing' } });
  });
});
