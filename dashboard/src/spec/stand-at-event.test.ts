/** A refusal of the page's own run, in the lab: the run stands where the refused event is. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { fileSource } from '../run/file-source.ts';
import { openRun } from '../run/run-store.ts';
import { standAtEvent } from './stand-at-event.ts';
import { readTraceText } from './trace-text.ts';
import { asRunFile } from './testing/as-run-file.ts';

const file = fileURLToPath(new URL('../../../specs/refused/forgets-promise.ndjson', import.meta.url));

function refusedRun() {
  const read = readTraceText(readFileSync(file, 'utf8'));
  if (!read.ok) throw new Error(read.message);
  return read.events;
}

it('the run of a file stands where the event is that is looked for, whichever it is', async () => {
  const events = refusedRun();
  const store = openRun(fileSource('refused.ndjson', asRunFile(events)));
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(store.get().playhead.mode).toBe('following');
  const { lastMs } = store.get().extent!;
  for (const at of [Math.floor(events.length / 3), Math.floor(events.length / 2), events.length - 200]) {
    const event = events[at]!;
    expect(standAtEvent(store, event)).toBe(true);
    expect(store.get().playhead.mode).toBe('standing');
    expect(store.record().clock.usAt(store.momentMs())).toBeCloseTo(event.atUs, 0);
    expect(store.momentMs()).toBeLessThan(lastMs);
  }
  store.close();
});

it('a run that tells no times of events stays where it is', () => {
  const store = openRun(fileSource('empty.ndjson', asRunFile([])));
  expect(standAtEvent(store, refusedRun()[0]!)).toBe(false);
  expect(store.get().playhead.mode).toBe('following');
  store.close();
});
