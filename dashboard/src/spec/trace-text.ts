/** The events in a file: of a recorded trace, as replicas write it, or of a run that a page exported. Pure. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { Frame } from '../model/frames.ts';
import { fileBounds, readRun } from '../run/run-file.ts';

export type ReadTrace =
  | { readonly ok: true; readonly events: readonly TraceEvent[] }
  | { readonly ok: false; readonly message: string };

export function readTraceText(text: string): ReadTrace {
  if (text.length > fileBounds.bytesMax)
    return { ok: false, message: 'The file is larger than a run may be.' };
  if (/^\s*\{"format":"barista-run"/.test(text)) {
    const read = readRun(text);
    return read.ok
      ? { ok: true, events: read.run.moments.flatMap(({ frames }) => eventsIn(frames)) }
      : { ok: false, message: read.message };
  }
  const events: TraceEvent[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const event = eventOf(line);
    if (event === null)
      return { ok: false, message: `Line ${index + 1} of the file is no event of a recorded trace.` };
    events.push(event);
    if (events.length > fileBounds.eventsMax)
      return { ok: false, message: 'The file has more events than can be checked here.' };
  }
  return events.length === 0 ? { ok: false, message: 'The file has no events in it.' } : { ok: true, events };
}

export function eventsIn(frames: readonly Frame[]): readonly TraceEvent[] {
  return frames.flatMap((frame) => (frame.type === 'events' ? frame.events : []));
}

function eventOf(line: string): TraceEvent | null {
  try {
    const value = JSON.parse(line) as Readonly<Record<string, unknown>> | null;
    const isEvent =
      ['replica', 'run', 'layer', 'name'].every((key) => typeof value?.[key] === 'string') &&
      ['seq', 'atUs'].every((key) => typeof value?.[key] === 'number');
    return isEvent ? (value as unknown as TraceEvent) : null;
  } catch {
    return null;
  }
}
