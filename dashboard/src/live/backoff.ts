/**
 * How long to wait before the next attempt to connect: doubling from `firstMs` to `maxMs`, then spread by a quarter either way so that
 * many pages do not come back at once.
 */
const firstMs = 250;
const maxMs = 8000;

/** `attempt` counts from 1; `random` is in [0, 1). */
export function backoffMs(attempt: number, random: number): number {
  const base = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 16));
  return Math.round(base * (0.75 + random * 0.5));
}
