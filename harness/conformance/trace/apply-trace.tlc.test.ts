import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { applySteps, checkApplyTrace } from './apply-trace.ts';
import { checkTrace } from './check-trace.ts';
import { readEvents } from './read-trace.ts';

/** The beginning of a real cluster's run under pgbench: consensus and ordered apply. */
const events = readEvents([fileURLToPath(new URL('../fixtures/cluster.ndjson', import.meta.url))]);
const applied = events.filter(
  (event) => event.layer === 'apply' && event.name === 'ApplyBatch' && event.applied.length > 0,
);

function altered(change: (event: TraceEvent) => TraceEvent): TraceEvent[] {
  const target = applied[Math.floor(applied.length / 2)];
  return events.map((event) => (event === target ? change(event) : event));
}

function forge(event: TraceEvent): TraceEvent {
  if (event.layer !== 'apply' || event.name !== 'ApplyBatch') return event;
  return { ...event, applied: event.applied.map(([slot]) => [slot, 'forged/1'] as const) };
}

function leaveOut(event: TraceEvent): TraceEvent {
  return event.layer === 'apply' && event.name === 'ApplyBatch' ? { ...event, applied: [] } : event;
}

describe('a recorded run of a real cluster', () => {
  it('is accepted, consensus and ordered apply', async () => {
    expect(await checkTrace(events)).toMatchObject({ kind: 'accepted' });
    const outcome = await checkApplyTrace(events);
    expect(outcome).toMatchObject({
      kind: 'accepted',
      events: events.filter(({ layer }) => layer === 'apply').length,
    });
  });

  it('is rejected if a follower applies another transaction than the one that was chosen', async () => {
    const outcome = await checkApplyTrace(altered(forge));
    expect(outcome).toMatchObject({ kind: 'rejected', recorded: { name: 'ApplyBatch' } });
  });

  it('is rejected if a follower leaves a transaction out that others applied', async () => {
    const outcome = await checkApplyTrace(altered(leaveOut));
    expect(outcome?.kind).toBe('rejected');
  });

  it('a slot is chosen before anything is said of it', () => {
    const { steps } = applySteps(events);
    const chosen = steps.findIndex(({ literal }) => literal.includes('"Choose",s|->5,'));
    const used = steps.findIndex(({ event }) => event?.name === 'ApplyBatch' && event.toSlot >= 5);
    expect(chosen).toBeGreaterThan(-1);
    expect(used).toBeGreaterThan(chosen);
  });
});
