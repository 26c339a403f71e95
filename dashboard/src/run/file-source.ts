/** A run that was exported: all of it at once, and nothing can be asked of it but time. */
import type { RunFile } from './run-file.ts';
import type { RunSource } from './source.ts';

/** `name`: of the file. */
export function fileSource(name: string, { moments, source }: RunFile): RunSource {
  return {
    kind: 'file',
    title: source === '' ? name : `${name} (${source})`,
    subscribe(listener) {
      listener.onBegun();
      for (const { atMs, frames } of moments) listener.onFrames(frames, atMs);
      listener.onConnection({ kind: 'open' });
      return () => undefined;
    },
    nowMs: () => moments.at(-1)?.atMs ?? 0,
    requests: null,
    world: null,
    retryNow: () => undefined,
  };
}
