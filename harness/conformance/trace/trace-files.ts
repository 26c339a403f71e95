/** The files of recorded traces. What is in them is read-trace.ts. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { parseTrace } from './read-trace.ts';

/** Files, and the .ndjson files under directories. */
export function traceFiles(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    if (!statSync(path).isDirectory()) return [path];
    const names = readdirSync(path, { recursive: true, encoding: 'utf8' });
    return names.filter((name) => name.endsWith('.ndjson')).map((name) => join(path, name));
  });
}

export function readEvents(paths: readonly string[]): TraceEvent[] {
  return traceFiles(paths).flatMap((file) => parseTrace(readFileSync(file, 'utf8'), file));
}
