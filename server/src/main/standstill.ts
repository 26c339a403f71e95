/**
 * Notices when the main thread stood still: nothing was read, answered or sent meanwhile, and no heartbeat either.
 *
 * Responsible for: noticing it behind it, and telling whether the process computed (a turn of the event loop that was too long) or did not run (a machine that was suspended, swaps, or has no processor left).
 */
import type { Logger } from 'pino';

export interface Standstill {
  readonly ms: number;
  /** Time of a processor that the process used meanwhile, all threads. */
  readonly cpuMs: number;
}

/** What is read at each look. */
interface Reading {
  readonly nowMs: number;
  readonly cpuMs: number;
}

const lookMs = 1_000;
/** Longer than that late. */
const noticedMs = 1_000;

/** At a look that follows another one. Null: it came in time. */
export function standstillBetween(before: Reading, after: Reading): Standstill | null {
  const ms = Math.round(after.nowMs - before.nowMs - lookMs);
  return ms < noticedMs ? null : { ms, cpuMs: Math.round(after.cpuMs - before.cpuMs) };
}

/** In words, for the log. */
export function standstillWords({ ms, cpuMs }: Standstill): string {
  const computed = cpuMs >= ms / 2;
  const why = computed
    ? 'the process computed: one piece of work was too long'
    : 'the process hardly ran: the machine was suspended, swaps, or has no processor left';
  return `the main thread stood still for ${(ms / 1000).toFixed(1)} s; ${why}`;
}

/** Returns the way to stop. `told`: for the metrics. */
export function watchStandstill(
  logger: Pick<Logger, 'warn'>,
  told: (standstill: Standstill) => void,
): () => void {
  let before = read();
  const timer = setInterval(() => {
    const after = read();
    const found = standstillBetween(before, after);
    before = after;
    if (found === null) return;
    told(found);
    logger.warn(found, standstillWords(found));
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}

function read(): Reading {
  const { user, system } = process.cpuUsage();
  return { nowMs: performance.now(), cpuMs: (user + system) / 1000 };
}
